"""From places in any order to the files of a generation."""
