package netprobe

import "sync"

// maxCached bounds a cache. There are as many texts as there are different checks; more come only by reloading.
const maxCached = 1000

// cache keeps what was made of a text, so that each probe of a check does not make it anew.
type cache[V any] struct {
	mu   sync.Mutex
	made map[string]V
}

func newCache[V any]() *cache[V] { return &cache[V]{made: make(map[string]V)} }

// get returns what is made of the text.
func (c *cache[V]) get(text string, mk func(string) (V, error)) (V, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.made[text]; ok {
		return v, nil
	}
	v, err := mk(text)
	if err != nil {
		return v, err
	}
	if len(c.made) >= maxCached {
		clear(c.made)
	}
	c.made[text] = v
	return v, nil
}
