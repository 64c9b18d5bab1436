module jobctl/bench/fanout

go 1.23.0

require golang.org/x/crypto v0.39.0

require golang.org/x/sys v0.33.0 // indirect
