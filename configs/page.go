package configs

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Page says where a hub serves its page.
type Page struct {
	// Address to listen at, "127.0.0.1:8480"; empty for no page.
	Address string `json:"address,omitempty"`
	// URL is where people reach it, "https://fleet.example.com"; empty where that is Address.
	URL string `json:"url,omitempty"`
	// Hosts are names that people may reach it under, beside those of URL and Address; without ports.
	Hosts []string `json:"hosts,omitempty"`
	// TLS is needed beyond loopback.
	TLS PageTLS `json:"tls,omitzero"`
}

// PageTLS is the certificate of the page and its key, files in PEM.
type PageTLS struct {
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
}

// hostPattern is the name of a host, or an address.
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.:-]*[A-Za-z0-9])?$|^::1?$`)

// Front says where a hub serves the Kubernetes API of its fleet.
type Front struct {
	// Address to listen at, "127.0.0.1:6443"; empty for none.
	Address string `json:"address,omitempty"`
	// URL is where people reach it, "https://fleet.example.com:6443"; empty where that is Address.
	URL string `json:"url,omitempty"`
	// Hosts are names that people may reach it under, beside those of URL and Address; without ports.
	Hosts []string `json:"hosts,omitempty"`
	// TLS is a certificate of others; without one the hub makes an authority and a certificate.
	TLS FrontTLS `json:"tls,omitzero"`
}

// FrontTLS is the certificate of the Kubernetes API and its key, files in PEM, and the authority that signed it,
// where machines do not know that.
type FrontTLS struct {
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
	CA   string `json:"ca,omitempty"`
}

func (c *checks) page(p *Page) {
	c.address("page.address", p.Address)
	c.unless(p.URL == "" || isOrigin(p.URL, "http", "https"), "page.url", strconv.Quote(p.URL), `a URL of http or https without a path, like "https://fleet.example.com"`)
	c.hosts("page.hosts", p.Hosts)
	c.certificate("page.tls", p.TLS)
}

func (c *checks) kubernetes(k *Front) {
	c.address("kubernetes.address", k.Address)
	c.unless(k.URL == "" || isOrigin(k.URL, "https"), "kubernetes.url", strconv.Quote(k.URL), `a URL of https without a path, like "https://fleet.example.com:6443"`)
	c.hosts("kubernetes.hosts", k.Hosts)
	c.certificate("kubernetes.tls", PageTLS{k.TLS.Cert, k.TLS.Key})
	c.unless(k.TLS.CA == "" || k.TLS.Cert != "", "kubernetes.tls.ca", "no cert beside it", "the certificate that it signed, or no ca")
}

func (c *checks) hosts(path string, hosts []string) {
	for i, host := range hosts {
		c.unless(hostPattern.MatchString(host), path+"["+strconv.Itoa(i)+"]", strconv.Quote(host), `the name of a host without a port, like "fleet.example.com"`)
	}
}

func (c *checks) certificate(path string, t PageTLS) {
	c.unless((t.Cert == "") == (t.Key == ""), path, "one of cert and key", "both, or none")
}

// isOrigin says that a text is the URL of a whole site, of one of some schemes.
func isOrigin(text string, schemes ...string) bool {
	at, err := url.Parse(text)
	return err == nil && slices.Contains(schemes, at.Scheme) && at.Hostname() != "" &&
		strings.Trim(at.Path, "/") == "" && at.RawQuery+at.Fragment == "" && at.User == nil
}
