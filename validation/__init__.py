"""Theory against simulation."""
