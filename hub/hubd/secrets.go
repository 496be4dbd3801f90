package hubd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"flotilla/bus/server"
	"flotilla/bus/streams"
	"flotilla/configs/secrets"
	"flotilla/core/seal"
)

// ownSecrets names the secrets in the folder of the hub's own server when none were given, and makes them in one
// that holds nothing yet.
func (h *Hub) ownSecrets(context.Context) (func(bool), error) {
	source := &h.options.Secrets
	if source.Given() || h.options.Server == nil {
		return func(bool) {}, nil
	}
	source.File = filepath.Join(h.options.Server.Dir, secrets.File)
	return func(bool) {}, h.makeSecrets(source.File)
}

// openSecrets reads the secrets of the fleet.
func (h *Hub) openSecrets(ctx context.Context) (func(bool), error) {
	source := h.options.Secrets
	if !source.Given() {
		return nil, errors.New("none were given, and a hub on servers that others run keeps none of its own: make them once with " +
			"`flotilla secrets create secrets.json`, and give the file to every hub of the fleet with --secrets")
	}
	var err error
	if h.keys, err = source.Read(ctx); err != nil {
		return nil, err
	}
	held := &heldSecrets{read: func() (*seal.Keyring, error) { return source.Read(context.Background()) }, last: h.keys, log: h.options.Log}
	h.options.Lead.Secrets = held.now
	return func(bool) {}, nil
}

// heldSecrets are the secrets as they could be read last: no file is needed to go on leading.
type heldSecrets struct {
	read func() (*seal.Keyring, error)
	last *seal.Keyring
	log  zerolog.Logger
}

// now reads the secrets anew. Those that were read before come with the error of a source that cannot be read.
func (s *heldSecrets) now() (*seal.Keyring, error) {
	keys, err := s.read()
	if err != nil {
		s.log.Warn().Err(err).Msg("the secrets cannot be read anew; those that were read before are used")
		return s.last, err
	}
	s.last = keys
	return keys, nil
}

// makeSecrets makes new secrets beside a server that stores nothing yet.
func (h *Hub) makeSecrets(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	dir := h.options.Server.Dir
	if server.Stores(dir) {
		return fmt.Errorf("%s is not there, but %s holds streams: put the file back, or name it with --secrets; when the folder is of "+
			"an older build, which did not seal content: %s", path, dir, streams.StartAnew)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	h.options.Log.Info().Str("file", path).Msg("making the secrets that content is sealed with: keep a copy of the file, without it nothing can be read")
	return secrets.Create(path, rand.Reader)
}
