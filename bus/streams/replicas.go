package streams

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flotilla/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// clustered is how many replicas streams get on a cluster, and how many servers such a cluster has at least.
const clustered = 3

// Of nats-server, for replicas that it has no servers for.
var (
	errNoPeers          = &jetstream.APIError{ErrorCode: 10005}
	errReplicasNotAlone = &jetstream.APIError{ErrorCode: 10074}
)

// replicasOf are the numbers of replicas that a stream is made with, the next where servers for one are
// missing: the one asked for, or else three on a cluster, and one. The servers know how many they are; the
// addresses that a client knows of may be fewer, or several of one server.
func replicasOf(c *bus.Conn, asked int) []int {
	switch {
	case asked > 0:
		return []int{asked}
	case c.NC.ConnectedClusterName() != "":
		return []int{clustered, 1}
	}
	return []int{1}
}

// replicasBeside is with how many replicas a stream that has some is compared: those asked for, or else as
// many as it has, or three where it has fewer and three servers are known to be there.
func replicasBeside(c *bus.Conn, asked, has int) int {
	switch {
	case asked > 0:
		return asked
	case c.NC.ConnectedClusterName() != "" && len(c.NC.Servers()) >= clustered:
		return max(has, clustered)
	}
	return has
}

// Servers of a cluster that start together find each other within seconds; a stream that is made before has one replica until
// somebody changes that.
const (
	gather = 15 * time.Second
	retry  = 250 * time.Millisecond
)

// gathered makes a stream again while there are fewer servers than replicas, until gathering ends.
func gathered(gathering context.Context, err error, create func() error) error {
	tick := time.NewTicker(retry)
	defer tick.Stop()
	for lacksServers(err) {
		select {
		case <-gathering.Done():
			return err
		case <-tick.C:
			err = create()
		}
	}
	return err
}

// lacksServers says that a stream could not be made because there are fewer servers than replicas.
func lacksServers(err error) bool {
	return errors.Is(err, errNoPeers) || errors.Is(err, errReplicasNotAlone)
}

// placed explains why a stream with so many replicas could not be made.
func placed(err error, replicas int) error {
	if replicas == 1 || !lacksServers(err) {
		return err
	}
	return fmt.Errorf("%w: no %d servers could take a replica: start those that are down, or say with --replicas how many there are to be", err, replicas)
}
