//! Requests to etcd's JSON gateway: HTTP/1.1 with JSON both ways, over one connection at a time.

use std::io;

use serde_json::Value as Json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

/// The longest answer that is read, in bytes.
const LONGEST: usize = 16 << 20;

/// A connection that stays open between requests.
#[derive(Debug)]
pub(super) struct Http(BufReader<TcpStream>);

/// The head of an answer: its status, and how its body is framed.
#[derive(Debug)]
struct Head {
    status: u16,
    /// The length of the body; `None` if it is chunked.
    length: Option<usize>,
}

impl Http {
    pub async fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        // Requests are small and must leave at once.
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Sends a request and reads the whole answer: the status and the body.
    pub async fn ask(&mut self, path: &str, body: &Json) -> io::Result<(u16, Json)> {
        let head = self.send(path, body).await?;
        let mut text = Vec::new();
        match head.length {
            Some(length) if length > LONGEST => return Err(broken("a very long answer")),
            Some(length) => {
                text.resize(length, 0);
                self.0.read_exact(&mut text).await?;
            }
            None => {
                while let Some(chunk) = self.chunk().await? {
                    text.extend(chunk);
                    if text.len() > LONGEST {
                        return Err(broken("a very long answer"));
                    }
                }
            }
        }
        let body = serde_json::from_slice(&text).map_err(|error| broken(&error.to_string()))?;
        Ok((head.status, body))
    }

    /// Requests a stream, and reads its messages until `last` accepts one. The rest is not read, so the connection
    /// cannot be used again.
    pub async fn stream_until(
        mut self,
        path: &str,
        body: &Json,
        last: impl Fn(&Json) -> bool,
    ) -> io::Result<(u16, Json)> {
        let head = self.send(path, body).await?;
        let mut text = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            text.extend(chunk);
            while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = text.drain(..=end).collect();
                let message: Json =
                    serde_json::from_slice(&line).map_err(|error| broken(&error.to_string()))?;
                if head.status != 200 || last(&message) {
                    return Ok((head.status, message));
                }
            }
        }
        Err(broken("the stream ended"))
    }

    async fn send(&mut self, path: &str, body: &Json) -> io::Result<Head> {
        let body = body.to_string();
        let request = format!(
            "POST /v3/{path} HTTP/1.1\r\nHost: etcd\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.write_all(request.as_bytes()).await?;
        let first = self.line().await?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut head = Head { status: status.ok_or_else(|| broken(&first))?, length: Some(0) };
        loop {
            let line = self.line().await?.to_ascii_lowercase();
            match line.split_once(": ") {
                _ if line.is_empty() => return Ok(head),
                Some(("content-length", length)) => {
                    head.length = Some(length.parse().map_err(|_| broken(&line))?);
                }
                Some(("transfer-encoding", "chunked")) => head.length = None,
                _ => {}
            }
        }
    }

    /// The next chunk of a chunked body; `None` at its end, after the trailers.
    async fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = self.line().await?;
        let size = line.split(';').next().and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
        let size = size.filter(|size| *size <= LONGEST).ok_or_else(|| broken(&line))?;
        if size == 0 {
            while !self.line().await?.is_empty() {}
            return Ok(None);
        }
        let mut chunk = vec![0; size];
        self.0.read_exact(&mut chunk).await?;
        self.line().await?;
        Ok(Some(chunk))
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if (&mut self.0).take(LONGEST as u64).read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }
}

fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("an answer that is no HTTP: {why}"))
}
