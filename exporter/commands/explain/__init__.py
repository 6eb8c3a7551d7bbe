"""`explain`: asks a running exporter why families have no series, and prints the answer.

In: families or targets, and the address of the exporter. Out: a summary by cause, or each absence with its evidence and
what to do. It needs neither the collectors nor the platform client.
"""
