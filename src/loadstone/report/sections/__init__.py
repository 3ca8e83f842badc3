"""The parts of the report, a module a part: what is known goes in, markup comes out."""
