"""The platform as a client sees it: operations, models and errors; it knows no metrics."""
