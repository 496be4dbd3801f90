package server

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"flotilla/configs/private"
)

// Own says what an authority of its own signs for a server that has no certificate from elsewhere.
type Own struct {
	// Dir is a data directory in which both are kept, with Prefix before the names of files; empty: in memory.
	Dir, Prefix string
	// Names are the addresses and DNS names under which others reach the server.
	Names []string
	// Of says whose certificate it is: "the NATS server".
	Of  string
	Log zerolog.Logger
}

// OwnTLS is the side of TLS of a server that makes an authority and a certificate, and the authority in PEM. The
// authority is made once; the certificate is made anew before it ends, and when the server has other names.
func OwnTLS(o Own) (config *tls.Config, ca []byte, err error) {
	a := authority{kept: shelf(memory{}), names: o.Names, of: o.Of}
	if o.Dir != "" {
		a.kept = folder{dir: filepath.Join(o.Dir, tlsFolder), prefix: o.Prefix}
	}
	config, err = (&certificate{of: o.Of, log: o.Log, read: func(*tls.Certificate) (*tls.Certificate, error) { return a.shown() }}).config()
	if err != nil {
		return nil, nil, err
	}
	signer, err := a.kept.pair(ofAuthority)
	if err != nil {
		return nil, nil, err
	}
	return config, inPEM(pemCertificate, signer.Certificate[0]), nil
}

// authority signs the certificate of a server.
type authority struct {
	kept  shelf
	names []string
	of    string
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

// shown is the certificate of the server. What is not there or ends soon is made.
func (a authority) shown() (*tls.Certificate, error) {
	signer, err := a.kept.pair(ofAuthority)
	if errors.Is(err, fs.ErrNotExist) {
		signer, err = a.found()
	}
	if err != nil {
		return nil, fmt.Errorf("its authority%s: %w", a.kept, err)
	}
	shown, err := a.kept.pair(ofServer)
	if errors.Is(err, private.ErrExposed) {
		return nil, err
	}
	if err != nil || !a.good(shown.Leaf, signer.Leaf) {
		shown, err = a.certify(signer)
	}
	return &shown, err
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
	return a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "Flotilla " + a.kept.name()}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, MaxPathLenZero: true,
	}, caLife, nil, ofAuthority)
}

// certify makes the certificate of the server.
func (a authority) certify(signer tls.Certificate) (tls.Certificate, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "Flotilla " + strings.TrimPrefix(a.of, "the ")}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range a.names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, name)
	}
	return a.issue(template, certLife, &signer, ofServer)
}

// issue signs a certificate with a new key, by itself without a signer, and keeps both.
func (a authority) issue(template *x509.Certificate, life time.Duration, signer *tls.Certificate, as pairName) (made tls.Certificate, err error) {
	fresh, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return made, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return made, err
	}
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-clockSkew), now.Add(life)
	parent, by := template, crypto.PrivateKey(fresh)
	if signer != nil {
		parent, by = signer.Leaf, signer.PrivateKey
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, parent, fresh.Public(), by)
	if err != nil {
		return made, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(fresh)
	if err != nil {
		return made, err
	}
	if err := a.kept.keep(as, inPEM(pemCertificate, signed), inPEM(pemKey, secret)); err != nil {
		return made, err
	}
	return a.kept.pair(as)
}
