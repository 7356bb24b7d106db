//! gRPC by `tonic`: unary calls, their bodies the bytes alone, without protobuf.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::{Buf, BufMut, Bytes};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};

use super::case::RESPONSE_BYTES;
use super::ours::{ended, local};
use super::pair::{REQUEST, ServerSide};
use super::tally::{CallFigures, Tally};

const METHOD: &str = "/bench.Answers/Answer";
const RESPONSE: Bytes = Bytes::from_static(&[b'r'; RESPONSE_BYTES]);

/// Bodies as they are.
#[derive(Debug, Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// The service.
#[derive(Debug, Clone, Copy)]
struct Answering;

impl NamedService for Answering {
    const NAME: &'static str = "bench.Answers";
}

impl Service<http::Request<Body>> for Answering {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            let mut grpc = tonic::server::Grpc::new(Raw);
            Ok(grpc.unary(Answering, request).await)
        })
    }
}

impl UnaryService<Bytes> for Answering {
    type Response = Bytes;
    type Future = std::future::Ready<Result<Response<Bytes>, Status>>;

    fn call(&mut self, _: Request<Bytes>) -> Self::Future {
        std::future::ready(Ok(Response::new(RESPONSE)))
    }
}

/// Serves until the client has ended.
///
/// # Errors
/// When the server does not start.
pub fn serve(side: ServerSide<String>) -> io::Result<()> {
    local(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        side.serves(format!("http://{}", listener.local_addr()?));
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let serving = Server::builder()
            .add_service(Answering)
            .serve_with_incoming(incoming);
        tokio::select! {
            biased;
            _ = side.client => Ok(()),
            served = serving => served.map_err(io::Error::other),
        }
    })
}

/// Calls over so many connections, so many outstanding on each.
///
/// # Errors
/// When a call fails.
pub fn call(
    at: &str,
    (count, depth): (usize, usize),
    tally: Tally,
) -> io::Result<Option<CallFigures>> {
    local(async {
        let tally = Rc::new(tally);
        let endpoint = Endpoint::from_shared(at.to_owned()).map_err(io::Error::other)?;
        let mut outstanding = JoinSet::new();
        for _ in 0..count {
            let channel = endpoint.connect().await.map_err(io::Error::other)?;
            for _ in 0..depth {
                outstanding.spawn_local(one_by_one(channel.clone(), tally.clone()));
            }
        }
        ended(outstanding, &tally).await
    })
}

async fn one_by_one(channel: Channel, tally: Rc<Tally>) -> io::Result<()> {
    let mut grpc = Grpc::new(channel);
    loop {
        let began = Instant::now();
        grpc.ready().await.map_err(io::Error::other)?;
        let path = PathAndQuery::from_static(METHOD);
        let answer = grpc.unary(Request::new(REQUEST), path, Raw).await;
        let answer: Response<Bytes> = answer.map_err(io::Error::other)?;
        if *answer.get_ref() != RESPONSE {
            return Err(io::Error::other("another answer than was sent"));
        }
        if !tally.add(began) {
            return Ok(());
        }
    }
}
