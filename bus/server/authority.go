package server

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// authority signs the certificate of a server that has none from elsewhere. Its own certificate is made once;
// the server's is made anew before it ends, and when the machine has other names.
type authority struct {
	dir   string
	names []string
}

// machineNames are the names under which others may reach a server on this machine.
func machineNames(host string) []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	if name, err := os.Hostname(); err == nil && name != "" {
		names = append(names, name)
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		names = append(names, host)
	}
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if at, ok := a.(*net.IPNet); ok && !at.IP.IsLinkLocalUnicast() {
			names = append(names, at.IP.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// renew makes what is not there or ends soon.
func (a authority) renew() error {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of certificates: %w", err)
	}
	signer, err := a.pair(caFile, caKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		signer, err = a.found()
	}
	if err != nil {
		return fmt.Errorf("the authority in %s: %w", a.dir, err)
	}
	shown, err := a.pair(certFile, certKeyFile)
	if err == nil && a.good(shown.Leaf, signer.Leaf) {
		return nil
	}
	return a.certify(signer)
}

func (a authority) pair(cert, key string) (tls.Certificate, error) {
	return tls.LoadX509KeyPair(filepath.Join(a.dir, cert), filepath.Join(a.dir, key))
}

// good says that a certificate is the authority's, lasts for a while and has all names.
func (a authority) good(shown, ca *x509.Certificate) bool {
	for _, name := range a.names {
		if shown.VerifyHostname(name) != nil {
			return false
		}
	}
	return shown.CheckSignatureFrom(ca) == nil && time.Until(shown.NotAfter) > renewBefore
}

// found makes the authority.
func (a authority) found() (tls.Certificate, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "Flotilla " + filepath.Base(filepath.Dir(a.dir))}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, MaxPathLenZero: true,
	}
	if err := a.issue(template, caLife, nil, caFile, caKeyFile); err != nil {
		return tls.Certificate{}, err
	}
	return a.pair(caFile, caKeyFile)
}

// certify makes the certificate of the server.
func (a authority) certify(signer tls.Certificate) error {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "Flotilla NATS server"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range a.names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, name)
	}
	return a.issue(template, certLife, &signer, certFile, certKeyFile)
}

// issue signs a certificate with a new key, by itself without a signer. The key comes first: a certificate whose
// key is another is made anew.
func (a authority) issue(template *x509.Certificate, life time.Duration, signer *tls.Certificate, cert, key string) error {
	fresh, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return err
	}
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-clockSkew), now.Add(life)
	parent, by := template, crypto.PrivateKey(fresh)
	if signer != nil {
		parent, by = signer.Leaf, signer.PrivateKey
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, parent, fresh.Public(), by)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(fresh)
	if err != nil {
		return err
	}
	if err := writePrivate(filepath.Join(a.dir, key), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})); err != nil {
		return err
	}
	return writePrivate(filepath.Join(a.dir, cert), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}))
}
