// usage: ns3 WORKLOAD (red64 tcp1000 tcp4000 forward udpqueue dc10g)
// environment: COUNT=1 counts packet-hops by a trace source; SCHED=scheduler, such as ns3::HeapScheduler; DC_T=duration of
// dc10g in s (default 1.0)
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/applications-module.h"
#include <unordered_map>
#include <cstdlib>
#include <unistd.h>
using namespace ns3;

// Unicast routing by a hash table, so that ns-3 is as fast as possible: its static and global routing search a list.
class FastRouting : public Ipv4RoutingProtocol {
public:
  static TypeId GetTypeId() { static TypeId t = TypeId("FastRouting").SetParent<Ipv4RoutingProtocol>(); return t; }
  std::unordered_map<uint32_t, Ptr<Ipv4Route>> table; Ptr<Ipv4Route> def; std::unordered_map<uint32_t,bool> local;
  Ptr<Ipv4> ip;
  Ptr<Ipv4Route> find(Ipv4Address d) { auto i = table.find(d.Get()); return i == table.end() ? def : i->second; }
  Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header& h, Ptr<NetDevice>, Socket::SocketErrno& e) override {
    auto r = find(h.GetDestination()); e = r ? Socket::ERROR_NOTERROR : Socket::ERROR_NOROUTETOHOST; return r; }
#ifdef NS3DEV
  bool RouteInput(Ptr<const Packet> p, const Ipv4Header& h, Ptr<const NetDevice> dev, const UnicastForwardCallback& u, const MulticastForwardCallback&, const LocalDeliverCallback& l, const ErrorCallback&) override {
#else
  bool RouteInput(Ptr<const Packet> p, const Ipv4Header& h, Ptr<const NetDevice> dev, UnicastForwardCallback u, MulticastForwardCallback, LocalDeliverCallback l, ErrorCallback) override {
#endif
    if (local.count(h.GetDestination().Get())) { l(p, h, ip->GetInterfaceForDevice(dev)); return true; }
    auto r = find(h.GetDestination()); if (!r) return false; u(r, p, h); return true; }
  void NotifyInterfaceUp(uint32_t) override {} void NotifyInterfaceDown(uint32_t) override {}
  void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress a) override {
#ifdef NS3DEV
    local[a.GetLocal().Get()] = true;
#else
    local[a.GetLocal().Get()] = true;
#endif
  }
  void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
  void SetIpv4(Ptr<Ipv4> i) override { ip = i; }
  void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}
};
class FastHelper : public Ipv4RoutingHelper {
public:
  FastHelper* Copy() const override { return new FastHelper(*this); }
  Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const override { return CreateObject<FastRouting>(); }
};
static uint64_t g_hops = 0, g_rx = 0, g_rxb = 0;
static void TxEnd(Ptr<const Packet>) { g_hops++; }
static bool counting = false;
static Ptr<FastRouting> FR(Ptr<Node> n) { return DynamicCast<FastRouting>(n->GetObject<Ipv4>()->GetRoutingProtocol()); }
static uint32_t AddIf(Ptr<Node> n, Ptr<NetDevice> d, Ipv4Address a) {
  auto ip = n->GetObject<Ipv4>(); uint32_t i = ip->AddInterface(d);
  ip->AddAddress(i, Ipv4InterfaceAddress(a, Ipv4Mask("255.255.255.255"))); ip->SetMetric(i, 1); ip->SetUp(i);
  if (counting) d->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&TxEnd));
  return i;
}
static Ptr<Ipv4Route> Rt(Ptr<NetDevice> d, Ipv4Address src) {
  auto r = Create<Ipv4Route>(); r->SetGateway(Ipv4Address("0.0.0.0")); r->SetOutputDevice(d); r->SetSource(src); return r; }
static NetDeviceContainer Link(Ptr<Node> a, Ptr<Node> b, std::string bw, Time delay, std::string q) {
  PointToPointHelper h; h.SetDeviceAttribute("DataRate", StringValue(bw)); h.SetChannelAttribute("Delay", TimeValue(delay));
  h.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(q)); return h.Install(a, b); }
static Ipv4Address A(uint32_t kind, uint32_t i) { return Ipv4Address((10u << 24) | (kind << 20) | (i + 1)); }

static void Tcp(Ptr<Node> s, Ptr<Node> t, Ipv4Address ta, uint16_t port, Time start) {
  PacketSinkHelper sk("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port)); auto k = sk.Install(t); k.Start(Seconds(0));
  BulkSendHelper b("ns3::TcpSocketFactory", InetSocketAddress(ta, port)); b.SetAttribute("SendSize", UintegerValue(1000)); b.SetAttribute("MaxBytes", UintegerValue(0));
  auto a = b.Install(s); a.Start(start);
}
struct UdpSrc { Ptr<Socket> s; double period; Ptr<ExponentialRandomVariable> ev; Time dt; double stop; uint32_t size; uint64_t n = 0, max = ~0ull;
  void Fire() { s->Send(Create<Packet>(size)); if (++n >= max) return; Simulator::Schedule(ev ? Seconds(ev->GetValue()) : dt, &UdpSrc::Fire, this); } };
static void UdpRx(Ptr<Socket> s) { Ptr<Packet> p; while ((p = s->Recv())) { g_rx++; g_rxb += p->GetSize(); } }
static void Sink(Ptr<Node> n, uint16_t port) {
  auto s = Socket::CreateSocket(n, UdpSocketFactory::GetTypeId()); s->Bind(InetSocketAddress(Ipv4Address::GetAny(), port)); s->SetRecvCallback(MakeCallback(&UdpRx)); }
static Ptr<Socket> Sender(Ptr<Node> n, Ipv4Address to, uint16_t port) {
  auto s = Socket::CreateSocket(n, UdpSocketFactory::GetTypeId()); s->Bind(); s->Connect(InetSocketAddress(to, port)); return s; }

int main(int argc, char** argv) {
  std::string wl = argv[1]; counting = getenv("COUNT"); double end = 0; bool tcp = true;
  if (getenv("SCHED")) GlobalValue::Bind("SchedulerType", StringValue(getenv("SCHED")));
  bool dc = wl == "dc10g";
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(dc ? "ns3::TcpDctcp" : "ns3::TcpNewReno")));
  Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::TcpClassicRecovery")));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(dc ? 1460 : 1000));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(dc ? 262144 : 131072));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(dc ? 262144 : 131072));
  Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(dc ? 10 : 200)));
  if (dc) { Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1))); }
  InternetStackHelper st; st.SetIpv6StackInstall(false); FastHelper fh; st.SetRoutingHelper(fh);
  auto uni = CreateObject<UniformRandomVariable>(); std::vector<UdpSrc*> us;
  int n = wl == "red64" ? 64 : wl == "tcp1000" ? 1000 : wl == "tcp4000" ? 4000 : 0;
  if (n) {
    end = n == 64 ? 200 : 100; std::string bw = n == 64 ? "10Mbps" : n == 1000 ? "100Mbps" : "400Mbps";
    NodeContainer c; c.Create(2 + 2 * n); st.Install(c); auto r0 = c.Get(0), r1 = c.Get(1);
    auto bl = Link(r0, r1, bw, MilliSeconds(10), n == 64 ? "1p" : n == 1000 ? "721p" : "2884p");
    if (n == 64) bl.Get(1)->GetObject<PointToPointNetDevice>()->GetQueue()->SetMaxSize(QueueSize("100000p"));
    AddIf(r0, bl.Get(0), A(1, 0)); AddIf(r1, bl.Get(1), A(1, 1));
    FR(r0)->def = Rt(bl.Get(0), A(1, 0)); FR(r1)->def = Rt(bl.Get(1), A(1, 1));
    if (n == 64) {
      TrafficControlHelper tc; tc.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", StringValue("115p"), "MinTh", DoubleValue(23), "MaxTh", DoubleValue(92),
        "LInterm", DoubleValue(10), "QW", DoubleValue(0.002), "Gentle", BooleanValue(false), "MeanPktSize", UintegerValue(1040), "LinkBandwidth", StringValue(bw), "LinkDelay", StringValue("10ms"));
      tc.Install(bl.Get(0));
    }
    for (int i = 0; i < n; i++) {
      auto s = c.Get(2 + 2 * i), t = c.Get(3 + 2 * i);
      auto l = Link(s, r0, "100Mbps", Seconds((9.0 + 20.0 * i / (n - 1)) / 1000), "100000p"); auto m = Link(r1, t, "100Mbps", MilliSeconds(1), "100000p");
      AddIf(s, l.Get(0), A(2, i)); AddIf(r0, l.Get(1), A(3, i)); AddIf(r1, m.Get(0), A(4, i)); AddIf(t, m.Get(1), A(5, i));
      FR(s)->def = Rt(l.Get(0), A(2, i)); FR(t)->def = Rt(m.Get(1), A(5, i));
      FR(r0)->table[A(2, i).Get()] = Rt(l.Get(1), A(3, i)); FR(r1)->table[A(5, i).Get()] = Rt(m.Get(0), A(4, i));
      Tcp(s, t, A(5, i), 5000, Seconds(uni->GetValue(0, 1)));
    }
  } else if (wl == "forward") {
    tcp = false; end = 10; NodeContainer c; c.Create(6); st.Install(c);
    for (int i = 0; i < 5; i++) { auto l = Link(c.Get(i), c.Get(i + 1), "10Gbps", MicroSeconds(10), "1000p");
      AddIf(c.Get(i), l.Get(0), A(1, i)); AddIf(c.Get(i + 1), l.Get(1), A(2, i)); FR(c.Get(i))->def = Rt(l.Get(0), A(1, i)); }
    for (int i = 0; i < 16; i++) { Sink(c.Get(5), 6000 + i);
      auto u = new UdpSrc{Sender(c.Get(0), A(2, 4), 6000 + i), 80e-6, nullptr, MicroSeconds(80), end, 970}; us.push_back(u);
      Simulator::Schedule(Seconds(uni->GetValue(0, 80e-6)), &UdpSrc::Fire, u); }
  } else if (wl == "udpqueue") {
    tcp = false; end = 8888.9; NodeContainer c; c.Create(2); st.Install(c);
    auto l = Link(c.Get(0), c.Get(1), "10Mbps", Seconds(0), "1000000p"); AddIf(c.Get(0), l.Get(0), A(1, 0)); AddIf(c.Get(1), l.Get(1), A(2, 0));
    FR(c.Get(0))->def = Rt(l.Get(0), A(1, 0)); FR(c.Get(1))->def = Rt(l.Get(1), A(2, 0)); Sink(c.Get(1), 6000);
    auto ev = CreateObject<ExponentialRandomVariable>(); ev->SetAttribute("Mean", DoubleValue(1.0 / 1125));
    auto u = new UdpSrc{Sender(c.Get(0), A(2, 0), 6000), 0, ev, Seconds(0), end, 970}; us.push_back(u); Simulator::Schedule(Seconds(0), &UdpSrc::Fire, u);
  } else if (dc) {
    end = getenv("DC_T") ? atof(getenv("DC_T")) : 1.0; NodeContainer c; c.Create(17); st.Install(c); auto sw = c.Get(16);
    for (int i = 0; i < 16; i++) { auto l = Link(c.Get(i), sw, "10Gbps", MicroSeconds(1), "1p");
      l.Get(0)->GetObject<PointToPointNetDevice>()->GetQueue()->SetMaxSize(QueueSize("100000p"));
      AddIf(c.Get(i), l.Get(0), A(2, i)); AddIf(sw, l.Get(1), A(3, i)); FR(c.Get(i))->def = Rt(l.Get(0), A(2, i)); FR(sw)->table[A(2, i).Get()] = Rt(l.Get(1), A(3, i));
      TrafficControlHelper tc; tc.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", StringValue("1000p"), "MinTh", DoubleValue(65), "MaxTh", DoubleValue(65), "QW", DoubleValue(1), "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false), "MeanPktSize", UintegerValue(1500), "LinkBandwidth", StringValue("10Gbps"), "LinkDelay", StringValue("1us"));
      tc.Install(l.Get(1)); }
    for (int i = 0; i < 16; i++) Tcp(c.Get(i), c.Get((i + 1) % 16), A(2, (i + 1) % 16), 5000, Seconds(uni->GetValue(0, 1e-4)));
    for (int i = 1; i < 16; i++) Tcp(c.Get(i), c.Get(0), A(2, 0), 5000 + i, Seconds(uni->GetValue(0, 1e-4)));
  } else return 2;
  Simulator::Stop(Seconds(end)); Simulator::Run();
  if (tcp) { for (uint32_t i = 0; i < NodeList::GetNNodes(); i++) { auto nd = NodeList::GetNode(i); for (uint32_t j = 0; j < nd->GetNApplications(); j++) { auto k = DynamicCast<PacketSink>(nd->GetApplication(j)); if (k) g_rxb += k->GetTotalRx(); } } g_rx = g_rxb / (dc ? 1460 : 1000); }
  printf("RESULT peer=ns3 workload=%s events=%llu delivered=%llu hops=%lld\n", wl.c_str(), (unsigned long long)Simulator::GetEventCount(), (unsigned long long)g_rx, counting ? (long long)g_hops : -1LL);
  fflush(stdout); _exit(0);
}
