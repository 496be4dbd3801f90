package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"

	"flotilla/core/api"
)

// Errors of Open.
var (
	// ErrSealed: the bytes are not what was sealed with that key for that place.
	ErrSealed = errors.New("cannot be opened: it was changed, or sealed with another key")
	// ErrTooLong: what was sealed is longer than its reader takes.
	ErrTooLong = errors.New("longer than it may be")
)

// Formats of what is sealed, its first byte.
const (
	formatPlain = 1 // compressing would not have made it shorter
	formatS2    = 2
)

// Overhead is by how many bytes at most something sealed is longer than its body.
const Overhead = 1 + nonceBytes + 16

const nonceBytes = 12

// Seal compresses a body and encrypts it for a piece: format, nonce, ciphertext of AES-256-GCM, which vouches
// for the place and the format too. The nonce follows from the key and the compressed body, so that the same
// body gives the same bytes, and another compressor no second text under the same nonce.
func Seal(piece api.Piece, body []byte) ([]byte, error) {
	format, text := byte(formatPlain), body
	if compressed := s2.Encode(nil, body); len(compressed) < len(body) {
		format, text = formatS2, compressed
	}
	aead, err := aeadOf(piece)
	if err != nil {
		return nil, err
	}
	nonce := derive(piece.Key, useNonce, text)[:nonceBytes]
	out := make([]byte, 0, Overhead+len(text))
	out = append(append(out, format), nonce...)
	return aead.Seal(out, nonce, text, bound(format, piece)), nil
}

// Open returns the body, of at most limit bytes, which holds before anything is allocated for it. ErrSealed,
// ErrTooLong.
func Open(piece api.Piece, sealed []byte, limit int) ([]byte, error) {
	aead, err := aeadOf(piece)
	if err != nil {
		return nil, err
	}
	if len(sealed) < Overhead {
		return nil, fmt.Errorf("%d bytes: %w", len(sealed), ErrSealed)
	}
	if len(sealed)-Overhead > limit {
		return nil, fmt.Errorf("%d bytes, at most %d: %w", len(sealed)-Overhead, limit, ErrTooLong)
	}
	format, nonce := sealed[0], sealed[1:1+nonceBytes]
	text, err := aead.Open(nil, nonce, sealed[1+nonceBytes:], bound(format, piece))
	if err != nil {
		return nil, ErrSealed
	}
	return expand(format, text, limit)
}

func expand(format byte, text []byte, limit int) ([]byte, error) {
	switch format {
	case formatPlain:
		return text, nil
	case formatS2:
		size, err := s2.DecodedLen(text)
		if err != nil {
			return nil, fmt.Errorf("unpacking: %w", err)
		}
		if size > limit {
			return nil, fmt.Errorf("%d bytes, at most %d: %w", size, limit, ErrTooLong)
		}
		body, err := s2.Decode(nil, text)
		if err != nil {
			return nil, fmt.Errorf("unpacking: %w", err)
		}
		return body, nil
	}
	return nil, fmt.Errorf("format %d, expected %d or %d: written by a newer build", format, formatPlain, formatS2)
}

// bound is what a ciphertext vouches for beside its text.
func bound(format byte, piece api.Piece) []byte { return append([]byte{format}, piece.At...) }

func aeadOf(piece api.Piece) (cipher.AEAD, error) {
	if len(piece.Key) != KeyBytes {
		return nil, fmt.Errorf("a key of %d bytes, expected %d", len(piece.Key), KeyBytes)
	}
	block, err := aes.NewCipher(piece.Key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
