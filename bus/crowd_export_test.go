package bus

import (
	"context"
)

// PutRaw stores a message as it is.
func (a *AgentConn) PutRaw(subject string, body []byte) error {
	return a.send(context.Background(), "a message of a test", subject, body, 8<<20)
}

// CountMessages has take told of the key of each message that a feed of a bucket delivers.
func CountMessages(c *Conn, bucket string, take func(key string)) (run func(context.Context)) {
	return newFeed(c, bucketSource(c.Fleet, bucket), countingSink{newMirror(func(string) {}), take}).run
}

type countingSink struct {
	*mirror
	take func(key string)
}

func (c countingSink) message(m message) {
	c.take(m.key)
	c.mirror.message(m)
}
