"""Schedulers after their definitions: strict priority, and weighted round robin by bytes."""

import tailback


class Priority(tailback.Scheduler):
    """Serve the first queue with a packet that may leave."""

    def select(self, call):
        """Choose the first queue that is ready."""
        for number, queue in enumerate(call.queues):
            if queue.ready:
                return number
        return None


class RoundRobin(tailback.Scheduler):
    """Serve queues in turns; a queue sends its quantum, and its last packet may exceed it (deficit round robin)."""

    def __init__(self, quanta):
        """Take the wire bytes per turn of each queue."""
        self.quanta = quanta
        self.credit = [0] * len(quanta)
        self.current = 0
        self.fresh = True

    def next_turn(self):
        """End the turn of the current queue."""
        self.current = (self.current + 1) % len(self.quanta)
        self.fresh = True

    def select(self, call):
        """Choose the queue whose turn it is."""
        while True:
            queue = call.queues[self.current]
            if not queue.ready:
                self.credit[self.current] = 0
            else:
                if self.fresh:
                    self.credit[self.current] += self.quanta[self.current]
                    self.fresh = False
                if self.credit[self.current] > 0:
                    return self.current
            self.next_turn()

    def sent(self, call):
        """Subtract the packet from the credit; an empty queue keeps none."""
        self.credit[call.queue] -= call.wire
        if call.queues[call.queue].packets == 0:
            self.credit[call.queue] = 0
            self.next_turn()
