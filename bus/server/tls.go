package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// TLS says with which certificate an embedded server speaks TLS; it speaks none when all is empty.
type TLS struct {
	// Cert and Key are files in PEM, Cert with what leads to its authority. They are read anew when they change.
	Cert, Key string
	// CA is the file of the authority that signed Cert, for those who connect; empty where they know it.
	CA string
	// SelfSigned makes an authority and a certificate in the data directory instead, and renews it.
	SelfSigned bool
	// Names are addresses and DNS names of a self-signed certificate beside those of the machine.
	Names []string
}

func (t *TLS) on() bool { return t.SelfSigned || t.Cert != "" }

// checkTLS refuses what cannot be spoken, and to be heard by others without it.
func (o Options) checkTLS() error {
	t := &o.TLS
	switch {
	case t.SelfSigned && t.Cert+t.Key+t.CA != "":
		return errors.New("found a certificate beside a self-signed one, expected one of them: leave out --tls-self-signed, or --tls-cert, --tls-key and --tls-ca")
	case (t.Cert == "") != (t.Key == ""):
		return errors.New("found one of --tls-cert and --tls-key, expected both: the certificate and its key")
	case !t.on() && t.CA != "":
		return errors.New("found --tls-ca without a certificate that it signed: add --tls-cert and --tls-key")
	case !t.on() && !loopback(o.Host):
		return fmt.Errorf("listening on %s without TLS, where everybody on the way reads along: add --tls-self-signed, "+
			"or --tls-cert FILE --tls-key FILE, or listen on 127.0.0.1", o.Host)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

const (
	tlsFolder     = "tls"
	tlsTimeout    = 10 // seconds
	caFile        = "ca.pem"
	caKeyFile     = "ca-key.pem"
	certFile      = "cert.pem"
	certKeyFile   = "key.pem"
	certLife      = 365 * 24 * time.Hour
	renewBefore   = 60 * 24 * time.Hour
	caLife        = 10 * 365 * 24 * time.Hour
	clockSkew     = time.Hour
	lookAtCertFor = time.Second
)

// certificate is that of a server, read anew when its files change.
type certificate struct {
	certFile, keyFile string
	renew             func() error // nil: others do
	log               zerolog.Logger

	mu      sync.Mutex
	looked  time.Time
	changed time.Time // of the newest of the files, when they were read
	current *tls.Certificate
	broken  bool // the files cannot be read, and that was logged
}

// tlsConfig is the server's side of TLS, nil when it speaks none.
func (s *Server) tlsConfig() (*tls.Config, error) {
	t := s.o.TLS
	if !t.on() {
		return nil, nil
	}
	c := &certificate{certFile: t.Cert, keyFile: t.Key, log: s.o.Log}
	if t.SelfSigned {
		own := authority{dir: filepath.Join(s.o.Dir, tlsFolder), names: append(machineNames(s.o.Host), t.Names...)}
		c.certFile, c.keyFile, c.renew = filepath.Join(own.dir, certFile), filepath.Join(own.dir, certKeyFile), own.renew
	}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("certificate of the NATS server: %w", err)
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get(), nil },
	}, nil
}

// get is the newest certificate that could be read.
func (c *certificate) get() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= lookAtCertFor {
		c.looked = now
		err := c.load()
		if err != nil && !c.broken {
			c.log.Error().Err(err).Msg("the certificate of the NATS server cannot be read anew; the one before is shown")
		}
		c.broken = err != nil
	}
	return c.current
}

// load reads the files when they changed.
func (c *certificate) load() error {
	if c.renew != nil {
		if err := c.renew(); err != nil {
			return err
		}
	}
	changed, err := newest(c.certFile, c.keyFile)
	if err != nil || c.current != nil && changed.Equal(c.changed) {
		return err
	}
	read, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("reading %s and %s: %w", c.certFile, c.keyFile, err)
	}
	if c.current != nil {
		c.log.Info().Str("file", c.certFile).Msg("the NATS server shows a new certificate")
	}
	c.current, c.changed = &read, changed
	return nil
}

// newest is when the last of some files was written.
func newest(files ...string) (at time.Time, err error) {
	for _, file := range files {
		found, err := os.Stat(file)
		if err != nil {
			return at, err
		}
		if found.ModTime().After(at) {
			at = found.ModTime()
		}
	}
	return at, nil
}

// TLS says that the server speaks TLS.
func (s *Server) TLS() bool { return s.o.TLS.on() }

// CAFile is the file with the authority that clients have to trust, empty where they know it or where there is
// no TLS.
func (s *Server) CAFile() string {
	if s.o.TLS.SelfSigned {
		return filepath.Join(s.o.Dir, tlsFolder, caFile)
	}
	return s.o.TLS.CA
}

// CA is the text of CAFile, to be handed to those who are to connect; nil when there is none.
func (s *Server) CA() ([]byte, error) {
	if s.CAFile() == "" {
		return nil, nil
	}
	text, err := os.ReadFile(s.CAFile())
	if err != nil {
		return nil, fmt.Errorf("authority of the NATS server: %w", err)
	}
	return text, nil
}
