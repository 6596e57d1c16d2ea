"""The machine in time: order, state, and the engines that replay kernel traces on a card."""
