"""For tests of Wellkept and of what plugs into it: fakes, clocks, and the conformance kit."""
