"""An example of a plugin. Keep this file empty: decloak imports it with each of the modules."""
