"""One promise a file: each looks at what is left after the drill, and says whether it was kept."""
