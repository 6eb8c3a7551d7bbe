"""The operations of the platform, and the models of their answers, by area.

In: ids and other parameters. Out: requests to an `exporter.platform.operation.Caller`, and typed answers. The models
contain the whole documented answer. `operations.py` lists the operations, `charts.py` reads the charts of answers.
"""
