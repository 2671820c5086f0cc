// Command strict reads responses, one JSON text a line: "2 {…}" or "3 {…}", and reads each with the types of a public OpenRTB
// library, where a field that the library does not know, or a value of another type, is an error. It answers "ok" or why not.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/prebid/openrtb/v20/adcom1"
	"github.com/prebid/openrtb/v20/openrtb2"
	"github.com/prebid/openrtb/v20/openrtb3"
)

func read(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

func two(text []byte) error {
	var r openrtb2.BidResponse
	if err := read(text, &r); err != nil {
		return err
	}
	if r.ID == "" {
		return errors.New("no id")
	}
	for _, s := range r.SeatBid {
		for _, b := range s.Bid {
			if b.ID == "" || b.ImpID == "" || b.Price <= 0 {
				return errors.New("a bid without id, impid or price")
			}
		}
	}
	return nil
}

func three(text []byte) error {
	var r openrtb3.Body
	if err := read(text, &r); err != nil {
		return err
	}
	if r.OpenRTB.Response == nil || r.OpenRTB.Response.ID == "" {
		return errors.New("no response, or one without id")
	}
	for _, s := range r.OpenRTB.Response.SeatBid {
		for _, b := range s.Bid {
			var media struct {
				Ad *adcom1.Ad `json:"ad"`
			}
			if b.ID == "" || b.Item == "" || b.Price <= 0 {
				return errors.New("a bid without id, item or price")
			}
			if err := read(b.Media, &media); err != nil {
				return err
			}
			if media.Ad == nil || media.Ad.ID == "" {
				return errors.New("media without an ad's id")
			}
		}
	}
	return nil
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) < 3 {
			return
		}
		check := map[byte]func([]byte) error{'2': two, '3': three}[line[0]]
		if wrong := check(line[2:]); wrong != nil {
			fmt.Println(wrong)
		} else {
			fmt.Println("ok")
		}
		if err != nil {
			return
		}
	}
}
