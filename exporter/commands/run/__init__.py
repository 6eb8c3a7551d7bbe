"""`run`: runs the daemon. In: flags, environment and file. Out: a process that serves until SIGTERM or SIGINT."""
