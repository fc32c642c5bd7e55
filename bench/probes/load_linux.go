package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// load asks a blackbox_exporter for probes: load URL PORT, 800 a second.
func load(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("load URL PORT, not %q", args)
	}
	client := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	work := make(chan string)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for target := range work {
				ask(ctx, client, args[0]+"/probe?module=tcp&target="+target+":"+args[1])
			}
		})
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		for range 4 {
			select {
			case work <- targetAt(n % 5000).String():
				n++
			case <-ctx.Done():
			}
		}
	}
	close(work)
	wg.Wait()
	return nil
}

func ask(ctx context.Context, client *http.Client, url string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return
	}
	if response, err := client.Do(request); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
}
