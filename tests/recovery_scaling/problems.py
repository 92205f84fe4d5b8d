"""Problems of orders 1 to 3, and such as are not learned; few students, for few kernels."""

from ssiode import Attention, Problem, Target, TiedNetwork

ORDER_1 = Problem(Target("z1"), TiedNetwork("identity"))
ORDER_2 = Problem(Target("He2(z1)"), TiedNetwork("0.1*s^2"))
ORDER_3 = Problem(Target("He3(z1)"), TiedNetwork("0.1*(s^3 - 3*s)"))
MINIMUM = Problem(Target("-He2(z1)"), ORDER_2.student)
FLAT = Problem(Target("He3(z1)"), ORDER_2.student)
QUARTIC = Problem(Target("He4(z1) + He4(z2)"), Attention("trace"))
