package streams

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"flotilla/bus"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

// Use is what a stream holds now.
type Use struct {
	// Short is the constant of subjects that names it, Name its full name.
	Short, Name string
	// Bytes and Messages are what it holds, MostBytes and MostMessages what it may; 0: without limit.
	Bytes, MostBytes       int64
	Messages, MostMessages int64
	// Rolls says that the oldest gives way where there is no room.
	Rolls bool
	// Replicas are by server; none where there is one server.
	Replicas []Replica
}

// Replica is what one server keeps of a stream. Offline says that the others do not hear of it, Current that it has all but
// what is under way.
type Replica struct {
	Server           string // its name; empty while who was asked has not learned it
	Peer             string // what servers call it among themselves; empty of the one that leads the stream
	Current, Offline bool
}

// A replica is behind that was not heard of for longer than mostSilent, or lacks more than mostLag writes: one that follows
// is a few behind at any moment.
const (
	mostSilent = 10 * time.Second
	mostLag    = 1000
)

// unknownName is how servers begin the name of one that they have not learned yet.
const unknownName = "Server name unknown"

// Uses asks the servers what each stream of the fleet holds. With an error it is what those hold that answered.
func Uses(ctx context.Context, c *bus.Conn) ([]Use, error) {
	var uses []Use
	var failed error
	for _, asset := range subjects.Assets() {
		use, err := streamUse(ctx, c, asset)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		uses = append(uses, use)
	}
	return uses, failed
}

func streamUse(ctx context.Context, c *bus.Conn, asset subjects.Asset) (Use, error) {
	ctx, cancel := context.WithTimeout(ctx, bus.AskTimeout)
	defer cancel()
	name := asset.StreamName(c.Fleet)
	stream, err := c.JS.Stream(ctx, name)
	if err != nil {
		return Use{}, fmt.Errorf("asking how full %s is: %w", name, err)
	}
	info := stream.CachedInfo()
	return Use{
		Short: asset.Short, Name: name,
		Bytes: int64(info.State.Bytes), MostBytes: max(0, info.Config.MaxBytes),
		Messages: int64(info.State.Msgs), MostMessages: max(0, info.Config.MaxMsgs),
		Rolls:    info.Config.Discard == jetstream.DiscardOld,
		Replicas: replicas(info.Cluster),
	}, nil
}

// replicas are those that a stream has, that of its leader too; none while it has no leader, who alone knows.
func replicas(cluster *jetstream.ClusterInfo) (all []Replica) {
	if cluster == nil || len(cluster.Replicas) == 0 || cluster.Leader == "" {
		return nil
	}
	all = append(all, Replica{Server: cluster.Leader, Current: true})
	for _, peer := range cluster.Replicas {
		if peer.Pending {
			continue
		}
		r := Replica{Server: peer.Name, Peer: peer.Peer, Offline: peer.Offline}
		if strings.HasPrefix(r.Server, unknownName) {
			r.Server = ""
		}
		r.Current = !peer.Offline && (peer.Current || peer.Active < mostSilent && peer.Lag < mostLag)
		all = append(all, r)
	}
	return all
}
