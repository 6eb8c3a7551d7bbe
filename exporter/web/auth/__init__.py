"""Access control: the web configuration file of the Prometheus exporters, TLS and basic auth.

In: a web configuration file and requests. Out: a TLS context, and an answer of 401 if the password is wrong.
Files are checked when they are read; a faulty file is refused with its line, and the former one stays in force.
"""
