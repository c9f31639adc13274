//! Files over QUIC with quinn, for comparison: one connection for each receiver, one stream for each file.
//!
//! quinn-files receive ADDRESS FOLDER
//! quinn-files send HOST,HOST FILE...
//!
//! TLS with a certificate that nobody checks; AES-256-GCM, rustls's first choice. Nothing is hashed. 16 MiB may be under way on a stream.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const WINDOW: u32 = 16 << 20;
const PORT: u16 = 7400;
/// Streams at once.
const STREAMS: u32 = 64;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["receive", address, folder] => receive(address, Path::new(folder)).await,
        ["send", hosts, ref files @ ..] => send(hosts, files).await,
        _ => bail!("quinn-files receive ADDRESS FOLDER | quinn-files send HOST,HOST FILE..."),
    }
}

fn transport() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config.stream_receive_window(VarInt::from_u32(WINDOW));
    config.receive_window(VarInt::from_u32(WINDOW));
    config.send_window(u64::from(WINDOW));
    config.max_concurrent_bidi_streams(VarInt::from_u32(STREAMS));
    Arc::new(config)
}

async fn receive(address: &str, folder: &Path) -> Result<()> {
    let certificate = rcgen::generate_simple_self_signed(vec!["receiver".into()])?;
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let tls = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.cert.der().clone()], key.into())?;
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(transport());
    let endpoint = Endpoint::server(config, SocketAddr::new(address.parse()?, PORT))?;
    println!("listening");
    while let Some(incoming) = endpoint.accept().await {
        let folder = folder.to_owned();
        tokio::spawn(async move {
            let connection = incoming.await?;
            while let Ok((answer, stream)) = connection.accept_bi().await {
                tokio::spawn(take(stream, answer, folder.clone()));
            }
            anyhow::Ok(())
        });
    }
    Ok(())
}

/// One file: the length of its name, the name, its content.
async fn take(mut stream: quinn::RecvStream, mut answer: quinn::SendStream, folder: PathBuf) -> Result<()> {
    let mut name = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut name).await?;
    let mut file = tokio::fs::File::create(folder.join(String::from_utf8(name)?)).await?;
    while let Some(chunk) = stream.read_chunk(1 << 20, true).await? {
        file.write_all(&chunk.bytes).await?;
    }
    file.flush().await?;
    answer.write_all(b"k").await?;
    answer.finish()?;
    Ok(())
}

async fn send(hosts: &str, files: &[&str]) -> Result<()> {
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone))
        .with_no_client_auth();
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(transport());
    let mut endpoint = Endpoint::client("0.0.0.0:0".parse()?)?;
    endpoint.set_default_client_config(config);
    let files: Arc<Vec<PathBuf>> = Arc::new(files.iter().map(PathBuf::from).collect());
    let mut tasks = Vec::new();
    for host in hosts.split(',') {
        let connecting = endpoint.connect(SocketAddr::new(host.parse()?, PORT), "receiver")?;
        let files = Arc::clone(&files);
        tasks.push(tokio::spawn(async move {
            let connection = connecting.await?;
            let mut given = Vec::new();
            for file in files.iter() {
                // Waits while there are as many streams as may be.
                let (stream, answer) = connection.open_bi().await?;
                given.push(tokio::spawn(give(stream, answer, file.clone())));
            }
            for one in given {
                one.await??;
            }
            connection.close(VarInt::from_u32(0), b"");
            anyhow::Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    endpoint.wait_idle().await;
    Ok(())
}

async fn give(mut stream: quinn::SendStream, mut answer: quinn::RecvStream, path: PathBuf) -> Result<()> {
    let name = path.file_name().context("a file")?.as_encoded_bytes();
    stream.write_u8(u8::try_from(name.len())?).await?;
    stream.write_all(name).await?;
    let mut file = tokio::fs::File::open(&path).await?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let size = file.read(&mut buffer).await?;
        if size == 0 {
            break;
        }
        stream.write_all(&buffer[..size]).await?;
    }
    stream.finish()?;
    let mut answered = [0; 1];
    answer.read_exact(&mut answered).await?;
    Ok(())
}

/// Takes every certificate: what is measured is the transfer.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
