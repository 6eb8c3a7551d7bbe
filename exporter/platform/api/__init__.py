"""The operations of the platform and the models of their answers, one module for each area.

In: ids and options. Out: calls of an `exporter.platform.operation.Caller`, and typed answers that contain the whole
documented response, so that a new metric needs no new field. `operations.py` lists every operation.

A model tolerates unknown, missing and null fields; it never invents a value that the platform did not send.
"""
