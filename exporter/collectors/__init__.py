"""One module a resource; the catalogue of them all is in `exporter.collectors.catalogue`."""
