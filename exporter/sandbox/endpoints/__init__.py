"""The sandbox's operations, one module an area of the interface."""
