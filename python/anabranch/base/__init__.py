"""What all of the package stands on: the compiled core, files and places, units and times, and how things are drawn."""
