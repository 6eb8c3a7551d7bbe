"""Our own HTTP endpoints: metrics, health, status page, API and access control."""
