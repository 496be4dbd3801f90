package bounds

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"flotilla/core/strict"
)

// protobuf counts the fields of an object in protobuf, of a kind where it names none. What decodes to nothing has no more than one.
func (c *Counts) protobuf(text []byte, of schema.GroupVersionKind) error {
	var sent runtime.Unknown
	if err := sent.Unmarshal(bytes.TrimPrefix(text, []byte(protobufBegin))); err != nil {
		return nil //nolint:nilerr // the decoder says so
	}
	if sent.APIVersion != "" || sent.Kind != "" {
		of = schema.FromAPIVersionAndKind(sent.APIVersion, sent.Kind)
	}
	made, err := scheme.Scheme.New(of)
	if err != nil {
		return nil //nolint:nilerr // the decoder says so
	}
	return c.message(sent.Raw, reflect.TypeOf(made).Elem(), 0)
}

// amountType is that of amounts, which are messages of one text. What is too long of them takes all memory there is to read.
var amountType = reflect.TypeFor[resource.Quantity]()

// amount refuses a text that is an amount beyond the bounds of amounts.
func amount(text []byte) error {
	if _, err := strict.ParseQuantity(string(text)); errors.Is(err, strict.ErrAmountBounds) {
		return apierrors.NewBadRequest(fmt.Sprintf("found the amount %.45q, expected one within 40 characters, ±1e30 and 18 digits behind the point", text))
	}
	return nil
}

// message counts the fields of a message and of those in it. Those before one that cannot be read count too: they are decoded before it.
func (c *Counts) message(text []byte, of reflect.Type, depth int) error {
	if depth == mostDepth {
		return tooDeep()
	}
	within := fieldsOfType(of)
	for len(text) > 0 {
		number, content, length := field(text)
		if length == 0 {
			return nil
		}
		text = text[length:]
		if err := c.add(); err != nil {
			return err
		}
		if of == amountType && number == 1 {
			if err := amount(content); err != nil {
				return err
			}
		}
		if t := within[number]; t != nil {
			if err := c.message(content, t, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// messages are the types of fields that are messages, by number, of each type.
var messages sync.Map

func fieldsOfType(t reflect.Type) map[int32]reflect.Type {
	if known, is := messages.Load(t); is {
		return known.(map[int32]reflect.Type)
	}
	made := map[int32]reflect.Type{}
	switch t.Kind() {
	case reflect.Map:
		made[2] = messageType(t.Elem())
	case reflect.Slice:
		made[1] = messageType(t.Elem())
	case reflect.Struct:
		for field := range t.Fields() {
			if tag := strings.Split(field.Tag.Get("protobuf"), ","); len(tag) > 1 {
				number, _ := strconv.ParseInt(tag[1], 10, 32)
				made[int32(number)] = messageType(field.Type)
			}
		}
	}
	messages.Store(t, made)
	return made
}

// messageType is what a field of a type holds that is a message, nil where it is none.
func messageType(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Pointer:
		return messageType(t.Elem())
	case reflect.Slice:
		if t.Name() != "" && t.Elem().Kind() != reflect.Uint8 {
			return t // a message whose items are a field
		}
		return messageType(t.Elem())
	case reflect.Map, reflect.Struct:
		return t
	}
	return nil
}

// field is the number of the first field of a message, its content where it has a length, and how long it is as a whole; 0 where it
// cannot be read.
func field(message []byte) (number int32, content []byte, length int) {
	tag, n := varint(message)
	if n == 0 {
		return 0, nil, 0
	}
	number = int32(tag >> 3) //nolint:gosec // as decoders do
	rest := message[n:]
	size, from := uint64(0), 0
	switch tag & 7 {
	case 0:
		_, m := varint(rest)
		if m == 0 {
			return 0, nil, 0
		}
		size = uint64(m)
	case 1:
		size = 8
	case 2:
		long, m := varint(rest)
		if m == 0 || long > uint64(len(rest)-m) {
			return 0, nil, 0
		}
		from, size = m, uint64(m)+long
	case 3, 4: // a group, whose fields come next
	case 5:
		size = 4
	default:
		return 0, nil, 0
	}
	if size > uint64(len(rest)) {
		return 0, nil, 0
	}
	if from > 0 {
		content = rest[from:size]
	}
	return number, content, n + int(size)
}

// varint is a number as decoders read it, who let go of what is beyond 64 bits, and how long it is; 0 where there is none.
func varint(data []byte) (number uint64, length int) {
	for shift := 0; shift < 64 && length < len(data); shift += 7 {
		b := data[length]
		length++
		if number |= uint64(b&0x7f) << shift; b < 0x80 {
			return number, length
		}
	}
	return 0, 0
}
