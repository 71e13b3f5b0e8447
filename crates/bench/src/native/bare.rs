//! The floor: the same stream, read from the socket by a program that does nothing else.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use anyhow::{Context, ensure};
use bench::chunk::{ChunkRequest, number_in};

use super::model_server::{ModelServer, plain_request};
use super::stream::TokenSource;

const READ_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Bare {
    stream: BufReader<TcpStream>,
    line: Vec<u8>,
    address: String,
}

impl Bare {
    pub(super) fn connect(model: &ModelServer) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(model.address()).context("no model server")?;
        stream.set_nodelay(true)?;
        let address = model.address().to_string();
        let stream = BufReader::with_capacity(READ_BYTES, stream);
        Ok(Self { stream, line: Vec::new(), address })
    }
}

impl TokenSource for Bare {
    fn begin_anew(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn ask(&mut self, request: ChunkRequest) -> anyhow::Result<()> {
        let body = plain_request(request).to_string();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        Ok(self.stream.get_mut().write_all((head + &body).as_bytes())?)
    }

    fn next(&mut self, seen: &mut dyn FnMut(u64)) -> anyhow::Result<bool> {
        self.line.clear();
        let n_bytes = self.stream.read_until(b'\n', &mut self.line)?;
        ensure!(n_bytes > 0, "the model server has gone");
        if let Some(number) = number_in(&self.line) {
            seen(number);
        }
        // The length of the last piece, and the end of the line after it.
        if self.line == b"0\r\n" {
            self.stream.read_until(b'\n', &mut self.line)?;
            return Ok(false);
        }
        Ok(true)
    }
}
