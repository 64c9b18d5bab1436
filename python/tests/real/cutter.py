"""A TCP proxy on loopback that cuts the first connections after so many bytes of the server's answer."""

from __future__ import annotations

import socket
import struct
import threading
from typing import List


class Cutter:
    def __init__(self, host: str, port: int, after_bytes: int, most_cuts: int) -> None:
        self._upstream = (host, port)
        self._after = after_bytes
        # An event larger than `after_bytes` arrives then; the whole of a log may be one.
        self._most = most_cuts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.cuts = 0
        self._lock = threading.Lock()
        self._sockets: List[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with self._lock:
            for one in self._sockets:
                one.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._upstream)
            with self._lock:
                self._sockets.extend((client, server))
            threading.Thread(target=self._up, args=(client, server), daemon=True).start()
            threading.Thread(target=self._down, args=(client, server), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while piece := client.recv(65536):
                server.sendall(piece)
            server.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        left = self._after
        try:
            while left > 0 and (piece := server.recv(min(left, 65536))):
                client.sendall(piece)
                left -= len(piece) if self.cuts < self._most else 0
        except OSError:
            return
        if left == 0:
            self.cuts += 1
            # What was sent arrives; then the connection is over, in the middle of an answer.
            client.shutdown(socket.SHUT_RDWR)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        server.close()
