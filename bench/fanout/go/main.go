// Runs one script on every host of a list, over one connection and one channel each, all at once.
// Reads {"hosts": [{host, port, user, keyFile, knownHostsFile}], "script": ".."} from stdin; prints [{host, output, error}].
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

type host struct {
	Host           string `json:"host"`
	Port           int    `json:"port"`
	User           string `json:"user"`
	KeyFile        string `json:"keyFile"`
	KnownHostsFile string `json:"knownHostsFile"`
}

type answer struct {
	Host   string `json:"host"`
	Output string `json:"output"`
	Error  string `json:"error"`
}

func main() {
	var plan struct {
		Hosts  []host `json:"hosts"`
		Script string `json:"script"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&plan); err != nil {
		fmt.Fprintln(os.Stderr, "fanout-go: stdin is no plan:", err)
		os.Exit(2)
	}
	logins, err := newLogins(plan.Hosts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fanout-go:", err)
		os.Exit(2)
	}
	answers := make([]answer, len(plan.Hosts))
	var wait sync.WaitGroup
	for index, h := range plan.Hosts {
		wait.Add(1)
		go func() {
			defer wait.Done()
			output, err := run(h, logins, plan.Script)
			answers[index] = answer{Host: h.Host, Output: output}
			if err != nil {
				answers[index].Error = err.Error()
			}
		}()
	}
	wait.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		os.Exit(1)
	}
}

// Keys and known hosts, each file read once.
type logins struct {
	signers   map[string]ssh.Signer
	callbacks map[string]ssh.HostKeyCallback
}

func newLogins(hosts []host) (*logins, error) {
	all := &logins{signers: map[string]ssh.Signer{}, callbacks: map[string]ssh.HostKeyCallback{}}
	for _, h := range hosts {
		if _, isKnown := all.signers[h.KeyFile]; !isKnown {
			text, err := os.ReadFile(h.KeyFile)
			if err != nil {
				return nil, err
			}
			if all.signers[h.KeyFile], err = ssh.ParsePrivateKey(text); err != nil {
				return nil, fmt.Errorf("%s: %w", h.KeyFile, err)
			}
		}
		if _, isKnown := all.callbacks[h.KnownHostsFile]; !isKnown {
			callback, err := knownhosts.New(h.KnownHostsFile)
			if err != nil {
				return nil, err
			}
			all.callbacks[h.KnownHostsFile] = callback
		}
	}
	return all, nil
}

func run(h host, all *logins, script string) (string, error) {
	config := &ssh.ClientConfig{
		User:            h.User,
		Auth:            []ssh.AuthMethod{ssh.PublicKeys(all.signers[h.KeyFile])},
		HostKeyCallback: all.callbacks[h.KnownHostsFile],
		// As jobctl's ssh-handshake.ts asks for them.
		HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
		Config: ssh.Config{
			KeyExchanges: []string{"curve25519-sha256"},
			Ciphers:      []string{"aes128-gcm@openssh.com"},
		},
	}
	client, err := ssh.Dial("tcp", net.JoinHostPort(h.Host, strconv.Itoa(h.Port)), config)
	if err != nil {
		return "", err
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		return "", err
	}
	defer session.Close()
	var out bytes.Buffer
	session.Stdout = &out
	err = session.Run(script)
	return out.String(), err
}
