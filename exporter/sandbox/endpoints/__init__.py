"""The sandbox's operations, one module for each area; each turns a request into a call of the world."""
