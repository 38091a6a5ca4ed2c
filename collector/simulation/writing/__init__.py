"""What models write for units, such as turns of simulated users onto task cards; the conversations are of `judges`."""
