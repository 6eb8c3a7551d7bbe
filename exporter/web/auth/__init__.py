"""Access control: the web configuration file of the Prometheus exporters, TLS and basic auth.

In: a web configuration file and requests. Out: a TLS context, and refusals of requests.
"""
