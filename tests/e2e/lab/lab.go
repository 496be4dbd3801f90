// Package lab runs real Kubernetes clusters on one machine: an etcd, and for each cluster an API server, the real
// controllers, the real scheduler, and kwok, which plays its nodes and what runs on them. Everything listens on the
// loopback address or on sockets of its own folder, and ends with the process that started it, however that one ended.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"flotilla/tests/e2e/binaries"
)

// patience is how long a control plane may take to start on a machine that does much else.
const patience = 4 * time.Minute

// Options of a lab.
type Options struct {
	Binaries binaries.Set
	Folder   string   // for certificates, data and logs; empty: one of its own that goes with the lab
	Clusters []string // names, DNS labels; each becomes a cluster that knows nothing of the others
	Nodes    int      // of each cluster: node-1, node-2 and so on
	Audit    bool     // whether API servers write down who asked for what
}

// Lab is some clusters that run.
type Lab struct {
	options   Options
	clusters  map[string]*Cluster
	lock      *os.File // of a folder of its own; nil for one that was given
	processes []*process
	mu        sync.Mutex // over processes
}

// Start starts the clusters and returns when they are ready: their API servers answer, their controllers work, their
// nodes are Ready. What it started it stops where that fails.
func Start(ctx context.Context, options Options) (*Lab, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	l := &Lab{options: options, clusters: map[string]*Cluster{}}
	if err := l.makeFolder(); err != nil {
		return nil, fmt.Errorf("making a folder for the lab: %w", err)
	}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(err, l.Stop())
	}
	return l, nil
}

func (l *Lab) start(ctx context.Context) error {
	database, err := l.startEtcd(ctx)
	if err != nil {
		return fmt.Errorf("starting etcd: %w", err)
	}
	for _, name := range l.options.Clusters {
		c, err := newCluster(l, name, database)
		if err != nil {
			return fmt.Errorf("preparing cluster %s: %w", name, err)
		}
		l.clusters[name] = c
	}
	var starting sync.WaitGroup
	faults := make([]error, len(l.options.Clusters))
	for i, name := range l.options.Clusters {
		starting.Go(func() {
			if err := l.clusters[name].start(ctx); err != nil {
				faults[i] = fmt.Errorf("starting cluster %s: %w", name, err)
			}
		})
	}
	starting.Wait()
	return errors.Join(faults...)
}

// Folder holds the logs, logs/PROGRAM or logs/CLUSTER-PROGRAM, and all else.
func (l *Lab) Folder() string { return l.options.Folder }

// Cluster is one of those that Options name, nil for another.
func (l *Lab) Cluster(name string) *Cluster { return l.clusters[name] }

// Stop kills every process and removes the folder, unless that was given. A lab that stopped stays so.
func (l *Lab) Stop() error {
	l.mu.Lock()
	for _, p := range l.processes {
		p.kill()
	}
	l.mu.Unlock()
	for _, c := range l.clusters {
		c.port.release()
	}
	if l.lock == nil {
		return nil
	}
	err := os.RemoveAll(l.options.Folder)
	return errors.Join(err, l.lock.Close())
}

// run starts a program whose log bears a name.
func (l *Lab) run(name, path string, args ...string) (*process, error) {
	p, err := startProcess(filepath.Join(l.options.Folder, "logs", name), path, args...)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	l.mu.Lock()
	l.processes = append(l.processes, p)
	l.mu.Unlock()
	return p, nil
}
