"""Single episodes, played again from their traces: player, pictures, animations, text."""
