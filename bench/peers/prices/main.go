// A price cache as one writes it in Go: net/http, a map under a lock, bodies rendered once. It asks no provider: the
// prices come from a file of lines "id<TAB>body". Headers are those of the gateway, Age and X-Cache computed.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type entry struct {
	body   []byte
	etag   string
	stored time.Time
}

type cache struct {
	mu      sync.RWMutex
	entries map[string]*entry
}

func (c *cache) get(id, currency string) *entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.entries[id+"|"+currency]
}

func (c *cache) price(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "Content-Type, Authorization")
	id := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/price/"), "/"))
	currency := r.URL.Query().Get("currency")
	if currency == "" {
		currency = "usd"
	}
	e := c.get(id, currency)
	if e == nil {
		http.Error(w, `{"error":"token not found"}`, http.StatusNotFound)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("ETag", e.etag)
	h.Set("Age", strconv.Itoa(int(time.Since(e.stored).Seconds())))
	h.Set("X-Cache", "HIT")
	h.Set("X-Price-Source", "primary")
	if r.Header.Get("If-None-Match") == e.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if _, err := w.Write(e.body); err != nil {
		return
	}
}

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	file := flag.String("prices", "", "lines of id, tab, body")
	flag.Parse()
	f, err := os.Open(*file)
	if err != nil {
		log.Fatal(err)
	}
	c := &cache{entries: map[string]*entry{}}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		id, body, _ := strings.Cut(lines.Text(), "\t")
		sum := sha256.Sum256([]byte(body + "\n"))
		tag := `"` + hex.EncodeToString(sum[:16]) + `"`
		c.entries[id+"|usd"] = &entry{body: []byte(body + "\n"), etag: tag, stored: time.Now()}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/price/", c.price)
	log.Fatal(http.ListenAndServe(*addr, mux))
}
