// ns-3's half of the cross-check of barrier-synchronised blocks (docs/fidelity/crosscheck-ns3.md).
//
// Reads a run from standard input, as `cargo run --example crosscheck_blocks -- case ...` writes it, and prints the line that
// `crosscheck_blocks run ...` prints.
//
// C++98, so that it builds with ns-3.14 (-std=gnu++98 -DNS3_14), with which Song's thesis was made, too: its TcpReno, where ns-3.37
// crashes when a receive window of 65535 B is full (its issue 991).

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace {

const uint32_t kFirstAlias = (172u << 24) + (16u << 16);
const uint16_t kPort = 5000;
// Bytes of a request on the wire: the least that an Ethernet frame has.
const uint64_t kRequest = 64;

struct Link {
    uint32_t a, b;
    uint64_t bps, delayNs;
};

// Links from the server to the client, and back.
struct Way {
    uint32_t client, server;
    std::vector<uint32_t> forward, back;
};

std::map<std::string, std::string> settings;
std::vector<Link> links;
std::vector<Way> ways;
uint64_t dropped = 0;

uint64_t Number(const std::string& key) {
    if (settings.count(key) == 0) {
        std::cerr << "error: the case does not say " << key << std::endl;
        std::exit(2);
    }
    return std::strtoull(settings[key].c_str(), 0, 10);
}

std::vector<uint32_t> ReadPath(std::istream& words) {
    uint32_t count = 0;
    words >> count;
    std::vector<uint32_t> path(count);
    for (uint32_t i = 0; i < count; ++i) {
        words >> path[i];
    }
    return path;
}

void ReadCase(std::istream& input) {
    std::string line;
    while (std::getline(input, line)) {
        std::istringstream words(line);
        std::string key;
        words >> key;
        if (key == "link") {
            Link link;
            words >> link.a >> link.b >> link.bps >> link.delayNs;
            links.push_back(link);
        } else if (key == "connection") {
            Way way;
            words >> way.client >> way.server;
            way.forward = ReadPath(words);
            way.back = ReadPath(words);
            ways.push_back(way);
        } else {
            words >> settings[key];
        }
        if (words.fail()) {
            std::cerr << "error: cannot read: " << line << std::endl;
            std::exit(2);
        }
    }
}

// Each connection has a pair of addresses of its own, so that both directions of it can have a path of their own: an odd one for the
// server, the next for the client.
Ipv4Address Alias(uint32_t connection, bool client) { return Ipv4Address(kFirstAlias + 4 * connection + 1 + client); }

// Routes to these addresses.
class Table : public Ipv4RoutingProtocol {
  public:
    void Reach(Ipv4Address alias, uint32_t interface, Ipv4Address gateway) {
        m_hops[alias.Get()] = std::make_pair(interface, gateway);
    }

    void Own(Ipv4Address alias) { m_own[alias.Get()] = true; }

    virtual Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header& header, Ptr<NetDevice>, Socket::SocketErrno& error) {
        Ptr<Ipv4Route> route = Find(header);
        error = route ? Socket::ERROR_NOTERROR : Socket::ERROR_NOROUTETOHOST;
        return route;
    }

    virtual bool RouteInput(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice> device,
                            UnicastForwardCallback forward, MulticastForwardCallback, LocalDeliverCallback deliver,
                            ErrorCallback) {
        if (m_own.count(header.GetDestination().Get()) > 0) {
            deliver(packet, header, m_ip->GetInterfaceForDevice(device));
            return true;
        }
        Ptr<Ipv4Route> route = Find(header);
        if (!route) {
            return false;
        }
        forward(route, packet, header);
        return true;
    }

    virtual void NotifyInterfaceUp(uint32_t) {}
    virtual void NotifyInterfaceDown(uint32_t) {}
    virtual void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) {}
    virtual void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) {}
    virtual void SetIpv4(Ptr<Ipv4> ip) { m_ip = ip; }
#ifdef NS3_14
    virtual void PrintRoutingTable(Ptr<OutputStreamWrapper>) const {}
#else
    virtual void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const {}
#endif

  private:
    Ptr<Ipv4Route> Find(const Ipv4Header& header) {
        uint32_t to = header.GetDestination().Get();
        std::map<uint32_t, std::pair<uint32_t, Ipv4Address> >::iterator hop = m_hops.find(to);
        if (hop == m_hops.end()) {
            return 0;
        }
        Ptr<Ipv4Route> route = Create<Ipv4Route>();
        route->SetDestination(header.GetDestination());
        route->SetGateway(hop->second.second);
        route->SetOutputDevice(m_ip->GetNetDevice(hop->second.first));
        // ns-3 takes the source of a connection from the route.
        route->SetSource(Ipv4Address(to % 4 == 1 ? to + 1 : to - 1));
        return route;
    }

    std::map<uint32_t, std::pair<uint32_t, Ipv4Address> > m_hops;
    std::map<uint32_t, bool> m_own;
    Ptr<Ipv4> m_ip;
};

class TableHelper : public Ipv4RoutingHelper {
  public:
    virtual TableHelper* Copy() const { return new TableHelper(*this); }
    virtual Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const { return CreateObject<Table>(); }
};

void SetTcpDefaults() {
#ifdef NS3_14
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpReno"));
    Config::SetDefault("ns3::RttEstimator::MinRTO", TimeValue(NanoSeconds(Number("rto_min"))));
#else
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpClassicRecovery"));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(NanoSeconds(Number("rto_min"))));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(false));
#endif
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(Number("mss")));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(Number("initial_window")));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(Number("ack_every")));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(NanoSeconds(Number("delayed_ack_timeout"))));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(NanoSeconds(Number("syn_timeout"))));
}

void Dropped(Ptr<const Packet>) { ++dropped; }

NodeContainer nodes;
// Of both ends of each link.
std::vector<int32_t> interfaces[2];
std::vector<Ipv4Address> addresses[2];

Ptr<Table> TableOf(uint32_t node) {
    return DynamicCast<Table>(nodes.Get(node)->GetObject<Ipv4>()->GetRoutingProtocol());
}

void Connect(const Link& link) {
    Ptr<PointToPointChannel> channel = CreateObject<PointToPointChannel>();
    channel->SetAttribute("Delay", TimeValue(NanoSeconds(link.delayNs)));
    for (uint32_t end = 0; end < 2; ++end) {
        uint32_t node = end == 0 ? link.a : link.b;
        Ptr<PointToPointNetDevice> device = CreateObject<PointToPointNetDevice>();
        device->SetAddress(Mac48Address::Allocate());
        device->SetDataRate(DataRate(link.bps));
        nodes.Get(node)->AddDevice(device);
        // Hosts never drop what their own TCP sends.
        uint32_t packets = node < Number("hosts") ? 1000000 : Number("buffer");
#ifdef NS3_14
        Ptr<DropTailQueue> queue = CreateObject<DropTailQueue>();
        queue->SetAttribute("MaxPackets", UintegerValue(packets));
        queue->TraceConnectWithoutContext("Drop", MakeCallback(&Dropped));
#else
        Ptr<DropTailQueue<Packet> > queue = CreateObject<DropTailQueue<Packet> >();
        queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, packets));
        queue->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Dropped));
#endif
        device->SetQueue(queue);
        device->Attach(channel);
        Ptr<Ipv4> ip = nodes.Get(node)->GetObject<Ipv4>();
        int32_t interface = ip->AddInterface(device);
        Ipv4Address address((10u << 24) + 4 * interfaces[end].size() + 1 + end);
        ip->AddAddress(interface, Ipv4InterfaceAddress(address, Ipv4Mask(0xfffffffc)));
        ip->SetMetric(interface, 1);
        ip->SetUp(interface);
        interfaces[end].push_back(interface);
        addresses[end].push_back(address);
    }
}

void Lay(Ipv4Address alias, uint32_t from, uint32_t to, const std::vector<uint32_t>& path) {
    uint32_t node = from;
    for (size_t i = 0; i < path.size(); ++i) {
        const Link& link = links[path[i]];
        uint32_t here = link.a == node ? 0 : 1;
        TableOf(node)->Reach(alias, interfaces[here][path[i]], addresses[1 - here][path[i]]);
        node = here == 0 ? link.b : link.a;
    }
    NS_ABORT_MSG_IF(node != to, "a path does not end where it should");
    TableOf(to)->Own(alias);
}

struct Client;

// A server of a client: its connections, and what each has still to hand to TCP.
struct Pair {
    Client* client;
    uint32_t server;
    std::vector<uint32_t> connections;
    std::vector<uint64_t> left;
    std::vector<Ptr<Socket> > sockets;
    std::vector<bool> open;
    uint64_t received;
};

struct Client {
    std::vector<Pair*> pairs;
    uint64_t block;
    Time asked;
};

std::map<uint32_t, Client> clients;
// Of each connection: its pair, and its number there.
std::vector<std::pair<Pair*, size_t> > places;
std::map<Socket*, uint32_t> connectionOf;
std::vector<Ptr<Socket> > kept;
uint64_t completed = 0;
double tookNs = 0;
size_t waiting = 0, unfinished = 0;

void Feed(Pair* pair, size_t i) {
    Ptr<Socket> socket = pair->sockets[i];
    if (!pair->open[i]) {
        return;
    }
    while (pair->left[i] > 0) {
        uint32_t bytes = std::min<uint64_t>(pair->left[i], Number("mss"));
        if (socket->GetTxAvailable() < bytes || socket->Send(Create<Packet>(bytes)) <= 0) {
            return;
        }
        pair->left[i] -= bytes;
    }
    if (Number("new_connections") > 0) {
        pair->open[i] = false;
        socket->Close();
    }
}

void Room(Ptr<Socket> socket, uint32_t) {
    std::pair<Pair*, size_t> place = places[connectionOf[PeekPointer(socket)]];
    if (place.first->sockets[place.second] == socket) {
        Feed(place.first, place.second);
    }
}

void Connected(Ptr<Socket> socket) {
    std::pair<Pair*, size_t> place = places[connectionOf[PeekPointer(socket)]];
    place.first->open[place.second] = true;
    Feed(place.first, place.second);
}

void Refused(Ptr<Socket>) { NS_ABORT_MSG("a connection failed"); }

void Open(Pair* pair, size_t i) {
    Ptr<Socket> socket = Socket::CreateSocket(nodes.Get(pair->server), TypeId::LookupByName("ns3::TcpSocketFactory"));
    kept.push_back(socket);
    connectionOf[PeekPointer(socket)] = pair->connections[i];
    pair->sockets[i] = socket;
    pair->open[i] = false;
    socket->Bind(InetSocketAddress(Alias(pair->connections[i], false), 0));
    socket->SetConnectCallback(MakeCallback(&Connected), MakeCallback(&Refused));
    socket->SetSendCallback(MakeCallback(&Room));
    socket->Connect(InetSocketAddress(Alias(pair->connections[i], true), kPort));
}

// A request has reached its server. Each connection carries an equal part of the fragment.
void Requested(Pair* pair) {
    size_t count = pair->connections.size();
    uint64_t fragment = Number("fragment");
    for (size_t i = 0; i < count; ++i) {
        pair->left[i] += fragment * (i + 1) / count - fragment * i / count;
    }
    for (size_t i = 0; i < count; ++i) {
        if (Number("new_connections") > 0 || !pair->sockets[i]) {
            Open(pair, i);
        } else {
            Feed(pair, i);
        }
    }
}

void Ask(Client* client) {
    ++client->block;
    client->asked = Simulator::Now();
    for (size_t i = 0; i < client->pairs.size(); ++i) {
        const std::vector<uint32_t>& back = ways[client->pairs[i]->connections[0]].back;
        uint64_t delayNs = 0;
        for (size_t j = 0; j < back.size(); ++j) {
            delayNs += links[back[j]].delayNs + kRequest * 8 * 1000000000ull / links[back[j]].bps;
        }
        Simulator::Schedule(NanoSeconds(delayNs), &Requested, client->pairs[i]);
    }
}

void Next(Client* client) {
    if (client->block < Number("blocks")) {
        Ask(client);
    } else if (--unfinished == 0) {
        Simulator::Stop();
    }
}

void Received(Pair* pair, uint32_t bytes) {
    pair->received += bytes;
    Client* client = pair->client;
    for (size_t i = 0; i < client->pairs.size(); ++i) {
        if (client->pairs[i]->received < client->block * Number("fragment")) {
            return;
        }
    }
    ++completed;
    tookNs += static_cast<double>((Simulator::Now() - client->asked).GetNanoSeconds());
    if (Number("global_barrier") == 0) {
        Next(client);
    } else if (--waiting == 0) {
        waiting = clients.size();
        for (std::map<uint32_t, Client>::iterator i = clients.begin(); i != clients.end(); ++i) {
            Next(&i->second);
        }
    }
}

void Arrived(Ptr<Socket> socket) {
    Pair* pair = places[connectionOf[PeekPointer(socket)]].first;
    for (Ptr<Packet> packet = socket->Recv(); packet && packet->GetSize() > 0; packet = socket->Recv()) {
        Received(pair, packet->GetSize());
    }
}

void Closed(Ptr<Socket> socket) { socket->Close(); }

void Accepted(Ptr<Socket> socket, const Address& from) {
    connectionOf[PeekPointer(socket)] = (InetSocketAddress::ConvertFrom(from).GetIpv4().Get() - kFirstAlias) / 4;
    kept.push_back(socket);
    socket->SetRecvCallback(MakeCallback(&Arrived));
    socket->SetCloseCallbacks(MakeCallback(&Closed), MakeCallback(&Closed));
}

Pair* PairOf(const Way& way) {
    Client& client = clients[way.client];
    for (size_t i = 0; i < client.pairs.size(); ++i) {
        if (client.pairs[i]->server == way.server) {
            return client.pairs[i];
        }
    }
    Pair* pair = new Pair();
    pair->client = &client;
    pair->server = way.server;
    pair->received = 0;
    client.pairs.push_back(pair);
    return pair;
}

void AddConnection(uint32_t number) {
    const Way& way = ways[number];
    Lay(Alias(number, true), way.server, way.client, way.forward);
    Lay(Alias(number, false), way.client, way.server, way.back);
    Pair* pair = PairOf(way);
    places.push_back(std::make_pair(pair, pair->connections.size()));
    pair->connections.push_back(number);
    pair->left.push_back(0);
    pair->sockets.push_back(Ptr<Socket>());
    pair->open.push_back(false);
    Ptr<Socket> listening = Socket::CreateSocket(nodes.Get(way.client), TypeId::LookupByName("ns3::TcpSocketFactory"));
    kept.push_back(listening);
    listening->Bind(InetSocketAddress(Alias(number, true), kPort));
    listening->Listen();
    listening->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&Accepted));
}

} // namespace

int main() {
    ReadCase(std::cin);
    Time::SetResolution(Time::NS);
    SetTcpDefaults();
    nodes.Create(Number("nodes"));
    InternetStackHelper internet;
    internet.SetRoutingHelper(TableHelper());
    internet.SetIpv6StackInstall(false);
    internet.Install(nodes);
    for (size_t i = 0; i < links.size(); ++i) {
        Connect(links[i]);
    }
    for (size_t i = 0; i < ways.size(); ++i) {
        AddConnection(i);
    }
    waiting = unfinished = clients.size();
    for (std::map<uint32_t, Client>::iterator i = clients.begin(); i != clients.end(); ++i) {
        Simulator::Schedule(NanoSeconds(0), &Ask, &i->second);
    }
    Simulator::Stop(Seconds(1000));
    Simulator::Run();
    if (unfinished > 0) {
        std::cerr << "error: " << unfinished << " clients did not get all blocks" << std::endl;
        return 2;
    }
    std::printf("blocks,%llu,%.0f,%llu\n", static_cast<unsigned long long>(completed), tookNs / completed,
                static_cast<unsigned long long>(dropped));
    return 0;
}
