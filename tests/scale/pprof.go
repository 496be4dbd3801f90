package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of profile.proto of pprof.
const (
	fieldSample, fieldLocation, fieldFunction, fieldText = 2, 4, 5, 6
	fieldSampleLocations, fieldSampleValues              = 1, 2
	fieldID, fieldFunctionName, fieldLocationLine        = 1, 2, 4
	fieldLineFunction                                    = 1
)

var errProfile = errors.New("expected a profile of pprof")

func parseProfile(text []byte) (*profile, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if text, err = io.ReadAll(zipped); err != nil {
		return nil, err
	}
	p := &profile{functions: map[uint64]int64{}, locations: map[uint64][]uint64{}}
	return p, fields(text, func(field protowire.Number, _ uint64, body []byte) error {
		switch field {
		case fieldText:
			p.texts = append(p.texts, string(body))
		case fieldSample:
			return p.takeSample(body)
		case fieldLocation:
			return p.takeLocation(body)
		case fieldFunction:
			return p.takeFunction(body)
		}
		return nil
	})
}

func (p *profile) takeSample(text []byte) error {
	var s sample
	err := fields(text, func(field protowire.Number, number uint64, body []byte) error {
		values, err := packed(number, body)
		switch field {
		case fieldSampleLocations:
			s.locations = append(s.locations, values...)
		case fieldSampleValues:
			if len(values) > 0 {
				s.value = float64(int64(values[len(values)-1]))
			}
		}
		return err
	})
	p.samples = append(p.samples, s)
	return err
}

func (p *profile) takeLocation(text []byte) error {
	var id uint64
	var functions []uint64
	err := fields(text, func(field protowire.Number, number uint64, body []byte) error {
		switch field {
		case fieldID:
			id = number
		case fieldLocationLine:
			return fields(body, func(field protowire.Number, number uint64, _ []byte) error {
				if field == fieldLineFunction {
					functions = append(functions, number)
				}
				return nil
			})
		}
		return nil
	})
	p.locations[id] = functions
	return err
}

func (p *profile) takeFunction(text []byte) error {
	var id uint64
	var name int64
	err := fields(text, func(field protowire.Number, number uint64, _ []byte) error {
		switch field {
		case fieldID:
			id = number
		case fieldFunctionName:
			name = int64(number)
		}
		return nil
	})
	p.functions[id] = name
	return err
}

// fields calls take for each field of a message, with its number or its bytes.
func fields(text []byte, take func(field protowire.Number, number uint64, body []byte) error) error {
	for len(text) > 0 {
		field, kind, n := protowire.ConsumeTag(text)
		if n < 0 {
			return errProfile
		}
		text = text[n:]
		var number uint64
		var body []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(text)
		case protowire.BytesType:
			body, n = protowire.ConsumeBytes(text)
		default:
			n = protowire.ConsumeFieldValue(field, kind, text)
		}
		if n < 0 {
			return errProfile
		}
		if err := take(field, number, body); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// packed are the numbers of a repeated field: one, or several in its bytes.
func packed(number uint64, body []byte) ([]uint64, error) {
	if body == nil {
		return []uint64{number}, nil
	}
	var values []uint64
	for len(body) > 0 {
		value, n := protowire.ConsumeVarint(body)
		if n < 0 {
			return nil, errProfile
		}
		values, body = append(values, value), body[n:]
	}
	return values, nil
}
