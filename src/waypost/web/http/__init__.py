"""HTTP itself, whatever is served: connections, bounds, guards, parameters, problems and the frame of pages."""
