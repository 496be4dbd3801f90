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

	"flotilla/configs/private"
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
	natsServer    = "the NATS server"
	tlsFolder     = "tls"
	tlsTimeout    = 10 // seconds
	certLife      = 365 * 24 * time.Hour
	renewBefore   = 60 * 24 * time.Hour
	caLife        = 10 * 365 * 24 * time.Hour
	clockSkew     = time.Hour
	lookAtCertFor = time.Second
)

// certificate is that of a server, which is read anew.
type certificate struct {
	of  string // whose it is, for the log
	log zerolog.Logger
	// read is the certificate to show now, given the one that was read before, which is nil at first.
	read func(before *tls.Certificate) (*tls.Certificate, error)

	mu      sync.Mutex
	looked  time.Time
	current *tls.Certificate
	broken  bool // it cannot be read, and that was logged
}

// tlsConfig is the server's side of TLS, nil when it speaks none.
func (s *Server) tlsConfig() (*tls.Config, error) {
	t := s.o.TLS
	if !t.on() {
		return nil, nil
	}
	if !t.SelfSigned {
		return ReadTLS(t.Cert, t.Key, natsServer, s.o.Log)
	}
	config, _, err := OwnTLS(Own{Dir: s.o.Dir, Names: append(machineNames(s.o.Host), t.Names...), Of: natsServer, Log: s.o.Log})
	return config, err
}

// ReadTLS is the side of TLS of a server whose certificate and key are files in PEM, which are read anew when they
// change. Of says whose they are: "the page".
func ReadTLS(certFile, keyFile, of string, log zerolog.Logger) (*tls.Config, error) {
	files := &certFiles{cert: certFile, key: keyFile}
	return (&certificate{of: of, log: log, read: files.read}).config()
}

func (c *certificate) config() (*tls.Config, error) {
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", c.of, err)
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
			c.log.Error().Err(err).Msg("the certificate of " + c.of + " cannot be read anew; the one before is shown")
		}
		c.broken = err != nil
	}
	return c.current
}

// load takes the certificate that is to be shown now.
func (c *certificate) load() error {
	read, err := c.read(c.current)
	if err != nil {
		return err
	}
	if c.current != nil && !c.current.Leaf.Equal(read.Leaf) {
		c.log.Info().Time("until", read.Leaf.NotAfter).Msg(c.of + " shows a new certificate")
	}
	c.current = read
	return nil
}

// certFiles are a certificate and its key that others keep.
type certFiles struct {
	cert, key string
	changed   time.Time // of the newest of them, when they were read
}

// read reads the files when they changed.
func (f *certFiles) read(before *tls.Certificate) (*tls.Certificate, error) {
	changed, err := newest(f.cert, f.key)
	if err != nil || before != nil && changed.Equal(f.changed) {
		return before, err
	}
	read, err := loadPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("reading %s and %s: %w", f.cert, f.key, err)
	}
	f.changed = changed
	return &read, nil
}

// loadPair reads a certificate and its key, which nobody else may read.
func loadPair(cert, key string) (tls.Certificate, error) {
	if err := private.Check(key); err != nil {
		return tls.Certificate{}, err
	}
	return tls.LoadX509KeyPair(cert, key)
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
		return filepath.Join(s.o.Dir, tlsFolder, ofAuthority.cert)
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
