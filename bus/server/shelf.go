package server

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Types of blocks of PEM.
const (
	pemCertificate = "CERTIFICATE"
	pemKey         = "PRIVATE KEY"
)

func inPEM(kind string, bytes []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
}

// pairName names the files of a certificate and its key.
type pairName struct{ cert, key string }

// What an authority keeps.
var (
	ofAuthority = pairName{"ca.pem", "ca-key.pem"}
	ofServer    = pairName{"cert.pem", "key.pem"}
)

// shelf is where an authority keeps certificates and keys. Its text says where that is, after what lies there.
type shelf interface {
	fmt.Stringer
	name() string
	// pair is what is kept, fs.ErrNotExist when nothing is.
	pair(pairName) (tls.Certificate, error)
	keep(as pairName, cert, key []byte) error
}

// folder keeps them as files.
type folder struct{ dir, prefix string }

func (f folder) String() string { return " in " + f.dir }

// name is that of the data directory.
func (f folder) name() string { return filepath.Base(filepath.Dir(f.dir)) }

func (f folder) file(name string) string { return filepath.Join(f.dir, f.prefix+name) }

func (f folder) pair(as pairName) (tls.Certificate, error) {
	return loadPair(f.file(as.cert), f.file(as.key))
}

// keep writes the key first: a certificate whose key is another is made anew.
func (f folder) keep(as pairName, cert, key []byte) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of certificates: %w", err)
	}
	if err := writePrivate(f.file(as.key), key); err != nil {
		return err
	}
	return writePrivate(f.file(as.cert), cert)
}

// memory keeps them as long as the process runs.
type memory map[pairName]tls.Certificate

func (m memory) String() string { return " in memory" }

func (m memory) name() string { return "hub" }

func (m memory) pair(as pairName) (tls.Certificate, error) {
	kept, found := m[as]
	if !found {
		return tls.Certificate{}, fs.ErrNotExist
	}
	return kept, nil
}

func (m memory) keep(as pairName, cert, key []byte) (err error) {
	m[as], err = tls.X509KeyPair(cert, key)
	return err
}
