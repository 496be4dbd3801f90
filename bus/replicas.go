package bus

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// clustered is how many replicas streams get on a cluster, and how many servers such a cluster has at least.
const clustered = 3

// Codes of nats-server for replicas that it has no servers for.
const (
	codeNoPeers          jetstream.ErrorCode = 10005
	codeNoResources      jetstream.ErrorCode = 10023
	codeReplicasNotAlone jetstream.ErrorCode = 10074
)

// replicasOf is how many replicas streams are made with: those asked for, or else three where the
// servers that the connection knows of are a cluster of three or more, and one elsewhere.
func replicasOf(c *Conn, asked int) int {
	switch {
	case asked > 0:
		return asked
	case c.NC.ConnectedClusterName() != "" && len(c.NC.Servers()) >= clustered:
		return clustered
	}
	return 1
}

// placed explains why a stream with so many replicas could not be made.
func placed(err error, replicas int) error {
	var refused *jetstream.APIError
	if replicas == 1 || !errors.As(err, &refused) {
		return err
	}
	switch refused.ErrorCode {
	case codeNoPeers, codeNoResources, codeReplicasNotAlone:
		return fmt.Errorf("%w: no %d servers could take a replica: start those that are down, or say with --replicas how many there are to be", err, replicas)
	}
	return err
}
