package lab

import (
	"context"
	"net"
	"path/filepath"
)

// nobody is where others would be told to call this etcd: it must have a port, and there are no others.
const nobody = "http://127.0.0.1:1"

// startEtcd starts the database of all clusters, on sockets of the lab's folder, and returns its address when it listens.
func (l *Lab) startEtcd(ctx context.Context) (string, error) {
	folder := filepath.Join(l.options.Folder, "etcd")
	clients, peers := l.options.Folder+"/etcd.sock", l.options.Folder+"/peer.sock"
	p, err := l.run(
		"etcd", l.options.Binaries.Kubelab(), "etcd",
		"--data-dir="+folder, "--name=lab", "--log-level=warn",
		"--listen-client-urls=unix://"+clients, "--advertise-client-urls="+nobody,
		"--listen-peer-urls=unix://"+peers, "--initial-advertise-peer-urls="+nobody, "--initial-cluster=lab="+nobody,
		"--unsafe-no-fsync", // what a lab knows goes with it
	)
	if err != nil {
		return "", err
	}
	return "unix://" + clients, until(ctx, []*process{p}, func(ctx context.Context) error { return Dial(ctx, "unix", clients) })
}

// Dial says whether somebody listens at an address.
func Dial(ctx context.Context, network, address string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err == nil {
		err = conn.Close()
	}
	return err
}
