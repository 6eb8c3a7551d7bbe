"""`config`: writes a configuration file for what a key can see, and shows the merged settings.

In: flags, environment and file. Out: YAML with comments, or JSON; secrets are masked.
"""
