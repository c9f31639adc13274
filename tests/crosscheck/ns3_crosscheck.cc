// ns-3's half of the cross-check (docs/fidelity/crosscheck-ns3.md).
//
// Reads a run from standard input, as `cargo run --example crosscheck -- case ...` writes it, simulates it with the
// models that ns-3.37 ships (point-to-point links, DropTailQueue or RedQueueDisc, TcpSocketBase with TcpNewReno or
// TcpDctcp, BulkSendApplication, PacketSink), and prints the lines that `crosscheck run ...` prints.
//
// Every parameter comes from the input. What is decided here is how ns-3 expresses it; comments say why.

#include "ns3_as_here.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(CountingReno);
NS_OBJECT_ENSURE_REGISTERED(DctcpAsHere);
NS_OBJECT_ENSURE_REGISTERED(GrowingRecovery);

namespace {

// Bytes that ns-3's point-to-point links put before every packet.
constexpr uint64_t kPppHeader = 2;
// IP and TCP headers with all options.
constexpr uint32_t kLargestAck = 80;
constexpr uint16_t kFirstPort = 5000;

struct Link {
    uint32_t a, b;
    uint64_t bps, delayNs;
};

struct Route {
    uint32_t node, destination, link;
};

struct Flow {
    uint32_t source, sink;
    uint64_t bytes, startNs; // no bytes: endless
};

struct Case {
    std::map<std::string, std::string> settings;
    std::vector<Link> links;
    std::vector<Route> routes;
    std::vector<Flow> flows;

    bool Has(const std::string& key) const { return settings.count(key) > 0; }

    uint64_t Number(const std::string& key) const { return std::stoull(Text(key)); }

    const std::string& Text(const std::string& key) const {
        auto found = settings.find(key);
        NS_ABORT_MSG_IF(found == settings.end(), "the case does not say " << key);
        return found->second;
    }
};

Case ReadCase(std::istream& input) {
    Case result;
    std::string line;
    while (std::getline(input, line)) {
        std::istringstream words(line);
        std::string key;
        words >> key;
        if (key == "link") {
            Link link{};
            words >> link.a >> link.b >> link.bps >> link.delayNs;
            result.links.push_back(link);
        } else if (key == "route") {
            Route route{};
            words >> route.node >> route.destination >> route.link;
            result.routes.push_back(route);
        } else if (key == "flow") {
            Flow flow{};
            words >> flow.source >> flow.sink >> flow.bytes >> flow.startNs;
            result.flows.push_back(flow);
        } else {
            words >> result.settings[key];
        }
        NS_ABORT_MSG_IF(words.fail(), "cannot read: " << line);
    }
    return result;
}

// ns-3's own, or what is to show where a difference comes from.
void SetControl(const Case& run) {
    bool growth = run.Has("ns3_growth");
    TypeId control = growth ? CountingReno::GetTypeId() : TcpNewReno::GetTypeId();
    if (run.Text("congestion") == "dctcp") {
        Config::SetDefault("DctcpAsHere::Floor", BooleanValue(run.Has("ns3_floor")));
        Config::SetDefault("DctcpAsHere::Echo", BooleanValue(run.Has("ns3_echo")));
        Config::SetDefault("DctcpAsHere::Growth", BooleanValue(growth));
        bool changed = growth || run.Has("ns3_floor") || run.Has("ns3_echo");
        control = changed ? DctcpAsHere::GetTypeId() : TcpDctcp::GetTypeId();
    }
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(control));
    // The default is proportional rate reduction (RFC 6937); RFC 5681's recovery is called classic.
    TypeId recovery = growth ? GrowingRecovery::GetTypeId() : TcpClassicRecovery::GetTypeId();
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(recovery));
}

void SetTcpDefaults(const Case& run) {
    SetControl(run);
    Config::SetDefault("ns3::TcpDctcp::DctcpShiftG", DoubleValue(std::stod(run.Text("dctcp_gain"))));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(run.Number("mss")));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(run.Number("initial_window")));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(run.Number("ack_every")));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(NanoSeconds(run.Number("delayed_ack_timeout"))));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(run.Number("receive_window")));
    // Larger than the receive window, so that the sending application never limits the flow.
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(2 * run.Number("receive_window")));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(NanoSeconds(run.Number("rto_initial"))));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(NanoSeconds(run.Number("rto_initial"))));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(NanoSeconds(run.Number("rto_min"))));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(NanoSeconds(run.Number("clock_granularity"))));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(run.Number("sack") != 0));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(run.Number("limited_transmit") != 0));
    // 12 bytes of options in every segment otherwise.
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
}

// One direction of a link: its queue or queues, and what is measured of them.
class Port {
  public:
    Port(Ptr<PointToPointNetDevice> device, uint32_t from, uint32_t to) : m_device(device), m_from(from), m_to(to) {
        device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Port::Sent, this));
        auto queue = device->GetQueue();
        queue->TraceConnectWithoutContext("BytesInQueue", MakeCallback(&Port::DeviceBytes, this));
        queue->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Port::Dropped, this));
    }

    void Watch(Ptr<QueueDisc> disc) {
        m_disc = disc;
        disc->TraceConnectWithoutContext("BytesInQueue", MakeCallback(&Port::DiscBytes, this));
        disc->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Port::DiscPackets, this));
        disc->TraceConnectWithoutContext("Mark", MakeCallback(&Port::Marked, this));
    }

    void Print() {
        Settle();
        if (m_disc) {
            m_dropped += m_disc->GetStats().nTotalDroppedPackets;
        }
        if (m_sent > 0) {
            std::printf("port,%u,%u,%" PRIu64 ",%.0f,%" PRIu64 ",%" PRIu64 "\n",
                        m_from, m_to, m_sent, m_integral, m_dropped, m_marked);
        }
    }

  private:
    void Sent(Ptr<const Packet> packet) { m_sent += packet->GetSize(); }
    void Dropped(Ptr<const Packet>) { ++m_dropped; }

    // ns-3's DCTCP sends ACKs as ECN-capable, so that they are marked too.
    void Marked(Ptr<const QueueDiscItem> item, const char*) { m_marked += item->GetSize() > kLargestAck; }

    void DeviceBytes(uint32_t, uint32_t bytes) {
        Settle();
        m_inDevice = bytes;
    }

    void DiscBytes(uint32_t, uint32_t bytes) {
        Settle();
        m_inDisc = bytes;
    }

    // What waits in the queue disc has no point-to-point header yet.
    void DiscPackets(uint32_t, uint32_t packets) {
        Settle();
        m_headers = packets * kPppHeader;
    }

    void Settle() {
        int64_t now = Simulator::Now().GetNanoSeconds();
        m_integral += static_cast<double>(m_inDevice + m_inDisc + m_headers) * static_cast<double>(now - m_since);
        m_since = now;
    }

    Ptr<PointToPointNetDevice> m_device;
    Ptr<QueueDisc> m_disc;
    uint32_t m_from, m_to;
    uint64_t m_sent = 0, m_dropped = 0, m_marked = 0;
    uint64_t m_inDevice = 0, m_inDisc = 0, m_headers = 0;
    int64_t m_since = 0;
    double m_integral = 0;
};

// A host's random pause before each packet, which keeps its line busy: the packet arrives later by the pause, and the next
// one waits as long. Nothing in ns-3 does that, but delay and gap are read after PhyTxBegin is told.
class Jitter {
  public:
    Jitter(Ptr<PointToPointChannel> channel, uint64_t delayNs, uint64_t longestNs, uint64_t stream)
        : m_channel(channel), m_delayNs(delayNs), m_random(CreateObject<UniformRandomVariable>()) {
        m_random->SetAttribute("Max", DoubleValue(static_cast<double>(longestNs)));
        m_random->SetStream(static_cast<int64_t>(stream));
    }

    // Only one direction of the channel pauses.
    void Watch(Ptr<PointToPointNetDevice> device, bool host) {
        if (host) {
            m_host = device;
            device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Jitter::HostSends, this));
        } else {
            device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Jitter::SwitchSends, this));
        }
    }

  private:
    void HostSends(Ptr<const Packet>) {
        auto pause = static_cast<uint64_t>(m_random->GetValue());
        m_channel->SetAttribute("Delay", TimeValue(NanoSeconds(m_delayNs + pause)));
        m_host->SetInterframeGap(NanoSeconds(pause));
    }

    void SwitchSends(Ptr<const Packet>) { m_channel->SetAttribute("Delay", TimeValue(NanoSeconds(m_delayNs))); }

    Ptr<PointToPointChannel> m_channel;
    Ptr<PointToPointNetDevice> m_host;
    uint64_t m_delayNs;
    Ptr<UniformRandomVariable> m_random;
};

// Nodes, links, queues and routes.
class Fabric {
  public:
    explicit Fabric(const Case& run) : m_case(run), m_hosts(run.Number("hosts")), m_addresses(m_hosts) {
        m_nodes.Create(run.Number("nodes"));
        InternetStackHelper internet;
        Ipv4StaticRoutingHelper routing;
        internet.SetRoutingHelper(routing);
        internet.SetIpv6StackInstall(false);
        internet.Install(m_nodes);
        Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
        for (const Link& link : run.links) {
            NetDeviceContainer ends = Connect(link);
            Ipv4InterfaceContainer interfaces = addresses.Assign(ends);
            addresses.NewNetwork();
            for (uint32_t end = 0; end < 2; ++end) {
                uint32_t node = end == 0 ? link.a : link.b;
                if (node < m_hosts) {
                    m_addresses[node] = interfaces.GetAddress(end);
                }
            }
            m_interfaces.push_back(interfaces);
        }
        for (const Route& route : run.routes) {
            const Link& link = run.links[route.link];
            const Ipv4InterfaceContainer& ends = m_interfaces[route.link];
            uint32_t here = link.a == route.node ? 0 : 1;
            routing.GetStaticRouting(ends.Get(here).first)
                ->AddHostRouteTo(m_addresses[route.destination], ends.GetAddress(1 - here), ends.Get(here).second);
        }
    }

    Ptr<Node> Host(uint32_t host) const { return m_nodes.Get(host); }

    Ipv4Address Address(uint32_t host) const { return m_addresses[host]; }

    void Print() {
        for (auto& port : m_ports) {
            port->Print();
        }
    }

  private:
    NetDeviceContainer Connect(const Link& link) {
        auto channel = CreateObject<PointToPointChannel>();
        channel->SetAttribute("Delay", TimeValue(NanoSeconds(link.delayNs)));
        NetDeviceContainer ends;
        const uint32_t nodes[] = {link.a, link.b};
        bool hosts = link.a < m_hosts || link.b < m_hosts;
        if (hosts) {
            m_jitters.push_back(std::make_unique<Jitter>(channel, link.delayNs, m_case.Number("jitter"), m_jitters.size()));
        }
        for (uint32_t end = 0; end < 2; ++end) {
            auto device = CreateObject<PointToPointNetDevice>();
            device->SetAddress(Mac48Address::Allocate());
            device->SetDataRate(DataRate(link.bps));
            m_nodes.Get(nodes[end])->AddDevice(device);
            AddQueue(device, link.bps, nodes[end], nodes[1 - end]);
            device->Attach(channel);
            if (hosts) {
                m_jitters.back()->Watch(device, nodes[end] < m_hosts);
            }
            ends.Add(device);
        }
        return ends;
    }

    // A device with a NetDeviceQueueInterface stops its queue disc when it is full; one without drops.
    void AddQueue(Ptr<PointToPointNetDevice> device, uint64_t bps, uint32_t node, uint32_t peer) {
        bool host = node < m_hosts;
        bool marks = !host && m_case.Text("congestion") == "dctcp";
        auto buffer = static_cast<uint32_t>(m_case.Number("buffer"));
        // Hosts never drop what their own TCP sends. With a queue disc the device holds one of the waiting packets.
        uint32_t packets = host ? 1'000'000 : marks ? 1 : buffer;
        auto queue = CreateObject<DropTailQueue<Packet>>();
        queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, packets));
        device->SetQueue(queue);
        if (!host) {
            m_ports.push_back(std::make_unique<Port>(device, node, peer));
        }
        if (!marks) {
            return;
        }
        auto interface = CreateObject<NetDeviceQueueInterface>();
        interface->GetTxQueue(0)->ConnectQueueTraces(queue);
        device->AggregateObject(interface);
        // RED as RFC 8257's marking: instantaneous length, one threshold, marks instead of drops. It counts what waits
        // before it, without the packet in the device.
        auto threshold = static_cast<double>(m_case.Number("threshold") - 1);
        TrafficControlHelper control;
        control.SetRootQueueDisc("ns3::RedQueueDisc",
                                 "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, buffer - 1)),
                                 "MinTh", DoubleValue(threshold),
                                 "MaxTh", DoubleValue(threshold),
                                 "QW", DoubleValue(1.0),
                                 "Gentle", BooleanValue(false),
                                 "UseEcn", BooleanValue(true),
                                 "UseHardDrop", BooleanValue(false),
                                 "LinkBandwidth", DataRateValue(DataRate(bps)));
        m_ports.back()->Watch(control.Install(device).Get(0));
    }

    const Case& m_case;
    uint32_t m_hosts;
    NodeContainer m_nodes;
    std::vector<Ipv4Address> m_addresses;
    std::vector<Ipv4InterfaceContainer> m_interfaces;
    std::vector<std::unique_ptr<Port>> m_ports;
    std::vector<std::unique_ptr<Jitter>> m_jitters;
};

// A bulk transfer and its sink.
class Transfer {
  public:
    Transfer(const Fabric& fabric, const Flow& flow, uint16_t port, uint64_t mss, uint32_t* unfinished)
        : m_flow(flow), m_unfinished(unfinished) {
        InetSocketAddress address(fabric.Address(flow.sink), port);
        PacketSinkHelper sink("ns3::TcpSocketFactory", address);
        ApplicationContainer receiver = sink.Install(fabric.Host(flow.sink));
        receiver.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Transfer::Received, this));
        receiver.Start(Time(0));
        BulkSendHelper bulk("ns3::TcpSocketFactory", address);
        bulk.SetAttribute("MaxBytes", UintegerValue(flow.bytes));
        bulk.SetAttribute("SendSize", UintegerValue(10 * mss));
        bulk.Install(fabric.Host(flow.source)).Start(NanoSeconds(flow.startNs));
    }

    void Print() const {
        int64_t took = m_end > 0 ? m_end - static_cast<int64_t>(m_flow.startNs) : 0;
        std::printf("flow,%u,%u,%" PRIu64 ",%" PRId64 "\n", m_flow.source, m_flow.sink, m_received, took);
    }

  private:
    void Received(Ptr<const Packet> packet, const ns3::Address&) {
        m_received += packet->GetSize();
        if (m_flow.bytes > 0 && m_received == m_flow.bytes) {
            m_end = Simulator::Now().GetNanoSeconds();
            if (--*m_unfinished == 0) {
                Simulator::Stop();
            }
        }
    }

    Flow m_flow;
    uint32_t* m_unfinished;
    uint64_t m_received = 0;
    int64_t m_end = 0;
};

} // namespace

int main(int argc, char* argv[]) {
    CommandLine commandLine(__FILE__);
    commandLine.Parse(argc, argv);
    Case run = ReadCase(std::cin);
    Time::SetResolution(Time::NS);
    RngSeedManager::SetRun(run.Number("seed"));
    SetTcpDefaults(run);
    Fabric fabric(run);
    auto finite = [](const Flow& flow) { return flow.bytes > 0; };
    auto unfinished = static_cast<uint32_t>(std::count_if(run.flows.begin(), run.flows.end(), finite));
    std::vector<std::unique_ptr<Transfer>> transfers;
    for (const Flow& flow : run.flows) {
        auto port = static_cast<uint16_t>(kFirstPort + transfers.size());
        transfers.push_back(std::make_unique<Transfer>(fabric, flow, port, run.Number("mss"), &unfinished));
    }
    bool limited = run.Number("until") > 0;
    Simulator::Stop(limited ? NanoSeconds(run.Number("until")) : Seconds(100));
    Simulator::Run();
    if (!limited && unfinished > 0) {
        std::cerr << "error: " << unfinished << " flows did not complete" << std::endl;
        return 2;
    }
    for (const auto& transfer : transfers) {
        transfer->Print();
    }
    fabric.Print();
    std::printf("run,%" PRId64 ",%" PRIu64 "\n", Simulator::Now().GetNanoSeconds(), Simulator::GetEventCount());
    Simulator::Destroy();
    return 0;
}
